package stint

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A network is one process's way to the model.
type network struct {
	*model
	mu      sync.Mutex
	random  *rand.Rand
	slowest time.Duration
	lossy   float64 // share of requests, and of replies, that are lost
	down    bool
	old     bool          // the server does not know RL.LEND
	slow    time.Duration // additional delay of messages
	lends   int
}

func (n *network) delay() (d time.Duration, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.slow + time.Duration(n.random.Int64N(int64(n.slowest))), n.down || n.random.Float64() < n.lossy
}

func (n *network) fail(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *network) slowDown(slow time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = slow
}

var errLost = errors.New("lost")

// An errorReply is one of the server.
type errorReply string

func (e errorReply) Error() string { return string(e) }
func (e errorReply) RedisError()   {}

func (n *network) send(_ context.Context, commands []redis.Cmder) {
	delay, lost := n.delay()
	time.Sleep(delay)
	for _, command := range commands {
		if lost {
			command.SetErr(errLost)
		} else if reply, err := n.answer(command.Args()); err != nil {
			command.SetErr(err)
		} else {
			command.(once).SetVal(reply)
		}
	}
	delay, lost = n.delay()
	time.Sleep(delay)
	for _, command := range commands {
		if lost {
			command.SetErr(errLost)
		}
	}
}

// do changes or reads the model now.
func (m *model) do(what func(now int64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what(virtual())
}

func (n *network) answer(arguments []any) (any, error) {
	n.model.mu.Lock()
	defer n.model.mu.Unlock()
	now := virtual()
	switch arguments[0] {
	case "RL.LEND", "RL.RETURN":
		if n.lends++; n.old {
			return nil, errorReply("ERR unknown command 'RL.LEND'")
		}
		return n.operate(now, n.limit, arguments)
	case "PING":
		return "PONG", nil
	}
	n.asked++
	return n.acquire(now, n.limit, arguments[4].(int64)), nil
}
