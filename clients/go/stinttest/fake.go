package stinttest

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/wire"
)

// address is of a block for documentation. go-redis looks names up, and net's lookups work in one bubble of a program.
const address = "192.0.2.1:6379"

// patient is the timeout of limiters on a fake: on a machine that is busy, 20 ms may pass.
const patient = 10 * time.Second

// A Fake is a Stint server in memory, whose clock stands still until the test advances it. It may be used by many
// goroutines.
type Fake struct {
	mu          sync.Mutex
	now         time.Time
	down        bool
	connections map[net.Conn]bool
	keys        map[string]entry
	payments    map[string]payment
	policies    map[string][]Rule
}

// NewFake makes a fake server. Its time begins at 2000-01-01 00:00 UTC.
func NewFake() *Fake {
	return &Fake{
		now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), connections: map[net.Conn]bool{},
		keys: map[string]entry{}, payments: map[string]payment{}, policies: map[string][]Rule{},
	}
}

// Connect makes a limiter on the fake. Its timeout is 10 s, unless an option sets another.
func (f *Fake) Connect(whenDown stint.Policy, options ...stint.Option) *stint.Limiter {
	options = append([]stint.Option{stint.Timeout(patient), stint.ClientOptions(func(o *redis.Options) { o.Dialer = f.dial })}, options...)
	return stint.Connect([]string{address}, whenDown, options...)
}

// Now is the time of the fake's clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance lets time pass. It panics if d is below 0.
func (f *Fake) Advance(d time.Duration) {
	if d < 0 {
		panic("stinttest.Fake.Advance: must not be below 0, got " + d.String())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// SetDown ends the connections and refuses others, so that policies answer, or lets limiters connect again. A limiter
// finds out that the fake is back by a probe of its circuit breaker, after [stint.Breaker]'s cool-down.
func (f *Fake) SetDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	for c := range f.connections {
		if down {
			c.Close()
		}
	}
}

// A Rule is a limit of a policy. {} in its key is the id of a check, and {name} one of its fields.
type Rule struct {
	Key   string
	Limit stint.Limit
}

// SetPolicy stores a policy.
func (f *Fake) SetPolicy(name string, rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.policies[name] = rules
}

func (f *Fake) dial(context.Context, string, string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, errors.New("the test set the fake down")
	}
	ours, theirs := net.Pipe()
	f.connections[ours] = true
	go func() {
		wire.Serve(ours, f.reply)
		ours.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.connections, ours)
	}()
	return theirs, nil
}
