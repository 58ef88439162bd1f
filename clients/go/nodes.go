package stint

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxNodes bounds the addresses that redirections may add to those given.
const maxNodes = 32

// nodes sends commands to one of the addresses, always the same while it answers. It goes on to the next when a
// connection fails, when a reply is overdue, and when a node replies that it cannot serve; it follows MOVED replies to
// the nodes they name. It knows the nodes that lead the groups of keys.
type nodes struct {
	timeout time.Duration // after which a reply is overdue
	connect func(address string) *redis.Client

	mu      sync.Mutex
	clients []*redis.Client
	current int
	closed  bool
	left    map[*redis.Client]bool // nodes that were left and have not answered PING since; true: it is on its way
	leaders leaders
}

func newNodes(addresses []string, timeout time.Duration, connect func(string) *redis.Client) *nodes {
	n := &nodes{timeout: timeout, connect: connect, left: map[*redis.Client]bool{}}
	for _, address := range addresses {
		n.clients = append(n.clients, connect(address))
	}
	return n
}

// send sends commands to the current node, or to the next that can be reached.
func (n *nodes) send(ctx context.Context, commands []redis.Cmder) {
	for range n.count() {
		if n.sendTo(ctx, n.pick(), commands) {
			return
		}
	}
}

// sendTo sends commands to a node, and those that it redirects to others. It reports false if the node could not be
// reached, so that nothing was sent.
func (n *nodes) sendTo(ctx context.Context, client *redis.Client, commands []redis.Cmder) (reached bool) {
	overdue := time.AfterFunc(n.timeout, func() { n.leave(client) })
	sendThrough(ctx, client, commands)
	overdue.Stop()
	redirected := moved(commands)
	switch {
	case len(redirected) > 0:
		n.follow(ctx, redirected)
	case unreachable(commands):
		n.leave(client)
		return false
	case cannotServe(commands):
		n.leave(client)
	}
	return true
}

// follow sends commands again to the nodes that replies have named: with groups, each key has its own leader.
func (n *nodes) follow(ctx context.Context, redirected map[string][]redis.Cmder) {
	var all sync.WaitGroup
	for target, commands := range redirected {
		client := n.turnTo(target)
		if client == nil {
			continue
		}
		for _, command := range commands {
			command.SetErr(nil)
		}
		all.Go(func() { sendThrough(ctx, client, commands) })
	}
	all.Wait()
}

func (n *nodes) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.clients)
}

func (n *nodes) pick() *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clients[n.current]
}

// leave goes on to the node after this one, unless another call has done so already. The node is not asked as a leader
// until it answers a PING.
func (n *nodes) leave(client *redis.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaders.isOld = true
	if _, isLeft := n.left[client]; !isLeft {
		n.left[client] = false // it is not asked yet
	}
	if n.clients[n.current] == client {
		n.current = (n.current + 1) % len(n.clients)
	}
}

// isLeft reports whether a node was left and has not answered PING since.
func (n *nodes) isLeft(client *redis.Client) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, left := n.left[client]
	return left
}

// turnTo makes the node at an address the current one; nil if there is no room for another.
func (n *nodes) turnTo(address string) *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaders.isOld = true
	for i, client := range n.clients {
		if client.Options().Addr == address {
			n.current = i
			return client
		}
	}
	if n.closed || len(n.clients) >= maxNodes {
		return nil
	}
	n.clients = append(n.clients, n.connect(address))
	n.current = len(n.clients) - 1
	return n.clients[n.current]
}

func (n *nodes) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	var errs []error
	for _, client := range n.clients {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

// moved returns the commands that were answered MOVED, by where to; nil if there are none.
func moved(commands []redis.Cmder) (redirected map[string][]redis.Cmder) {
	for _, command := range commands {
		if words := strings.Fields(replyError(command)); len(words) == 3 && words[0] == "MOVED" {
			if redirected == nil {
				redirected = map[string][]redis.Cmder{}
			}
			redirected[words[2]] = append(redirected[words[2]], command)
		}
	}
	return redirected
}

// cannotServe reports that this node could not serve the request and another may.
func cannotServe(commands []redis.Cmder) bool {
	for _, command := range commands {
		_, silent := classify(command.Err())
		if class := classOf(replyError(command)); silent || class == busyNode || class == outcomeUnknown {
			return true
		}
	}
	return false
}

// unreachable reports that no connection was made, so that nothing can have been sent.
func unreachable(commands []redis.Cmder) bool {
	var op *net.OpError
	return errors.As(commands[0].Err(), &op) && op.Op == "dial"
}

// replyError is the text of an error reply, empty if the command has none.
func replyError(command redis.Cmder) string {
	var reply redis.Error
	if errors.As(command.Err(), &reply) {
		return reply.Error()
	}
	return ""
}
