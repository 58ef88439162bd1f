package stint

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// pipes has a pipe to each leader, so that one that does not answer delays only the calls for its own keys, and a pipe
// for the calls without a known leader.
type pipes struct {
	any   *pipe
	nodes *nodes // nil: no leaders
	open  func(sender) *pipe

	mu       sync.Mutex
	byLeader map[*redis.Client]*pipe
	closed   bool
}

func newPipes(s sender, open func(sender) *pipe) *pipes {
	n, _ := s.(*nodes)
	return &pipes{any: open(s), nodes: n, open: open, byLeader: map[*redis.Client]*pipe{}}
}

// of is the pipe for a command.
func (p *pipes) of(arguments []any) *pipe {
	if p.nodes == nil {
		return p.any
	}
	leader := p.nodes.leader(keyOf(arguments))
	if leader == nil {
		return p.any
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return p.any // closed as well
	case p.byLeader[leader] == nil:
		p.byLeader[leader] = p.open(toLeader{p.nodes, leader})
	}
	return p.byLeader[leader]
}

// close closes all pipes.
func (p *pipes) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.any.close()
	for _, pipe := range p.byLeader {
		pipe.close()
	}
}

// toLeader sends commands to the node that led their keys when they were queued, or to another if that node does not
// answer.
type toLeader struct {
	nodes  *nodes
	leader *redis.Client
}

func (t toLeader) send(ctx context.Context, commands []redis.Cmder) {
	if t.nodes.isLeft(t.leader) || !t.nodes.sendTo(ctx, t.leader, commands) {
		t.nodes.send(ctx, commands)
	}
}
