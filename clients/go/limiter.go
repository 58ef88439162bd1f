package stint

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// DefaultTimeout is how long a call waits for Stint, unless [Timeout] says otherwise.
const DefaultTimeout = 20 * time.Millisecond

// A Limiter asks a Stint server. Make one with [Connect] or [New] and keep it for as long as the program runs; all
// goroutines can share it.
type Limiter struct {
	*connection
	settings
}

// connection is what limiters made from one another with With share.
type connection struct {
	pipe    *pipe
	breaker *breaker
	close   func() error
	once    sync.Once
}

// settings are a limiter's own.
type settings struct {
	timeout time.Duration
	policy  Policy
	local   *local // of LocalShare
	assumed map[string][]Limit
	hooks   []Hooks

	failures  int
	coolDown  time.Duration
	configure []func(*redis.Options)
}

// An Option changes how a limiter behaves.
type Option func(*settings)

// Timeout is how long a call waits for Stint's answer before the policy gives one, in place of 20 ms. It holds whatever
// go-redis is doing, connecting included. It panics unless d is above 0.
//
// The timeouts of a client given to [New] are about its connections and may be longer: a connection that is waited for
// is given up then, though nobody has waited that long.
func Timeout(d time.Duration) Option {
	if d <= 0 {
		panic("stint.Timeout: must be above 0, got " + d.String())
	}
	return func(s *settings) { s.timeout = d }
}

// WhenDown is the policy for as long as Stint does not answer. [Connect] and [New] take it as an argument; this is for
// [Limiter.With].
func WhenDown(p Policy) Option {
	return func(s *settings) {
		s.policy, s.local = p, nil
		if p.kind == localShare {
			s.local = newLocal(p.share)
		}
	}
}

// AssumePolicy tells what limits the named policy has for [LocalShare], which cannot ask while it is needed. Each id
// given to [Limiter.Check] is held to them on its own.
func AssumePolicy(name string, limits ...Limit) Option {
	return func(s *settings) {
		assumed := map[string][]Limit{name: slices.Clone(limits)}
		for other, l := range s.assumed {
			if other != name {
				assumed[other] = l
			}
		}
		s.assumed = assumed
	}
}

// WithHooks has functions called for every decision and when the circuit breaker opens and closes. Given again, both are
// called. Breaker hooks belong to the connection: those given to [Limiter.With] are not called.
func WithHooks(h Hooks) Option {
	return func(s *settings) { s.hooks = append(slices.Clip(s.hooks), h) }
}

// Breaker sets after how many failures in a row the circuit breaker opens, 5 if it is not given, and how long it then
// waits before it probes for the first time, 250 ms; every failed probe doubles that, up to 10 s. Failures that overlap
// in time count once. It belongs to the connection, so [Limiter.With] ignores it. It panics unless both are above 0.
func Breaker(failures int, coolDown time.Duration) Option {
	if failures <= 0 || coolDown <= 0 {
		panic("stint.Breaker: both must be above 0")
	}
	return func(s *settings) { s.failures, s.coolDown = failures, coolDown }
}

// ClientOptions changes the go-redis options with which [Connect] makes its connections, for TLS, passwords and the
// like. It is for Connect only.
func ClientOptions(configure func(*redis.Options)) Option {
	return func(s *settings) { s.configure = append(s.configure, configure) }
}

func newSettings(whenDown Policy, options []Option) settings {
	s := settings{timeout: DefaultTimeout, failures: defaultFailures, coolDown: defaultCoolDown}
	WhenDown(whenDown)(&s)
	for _, option := range options {
		option(&s)
	}
	return s
}

// New makes a limiter that sends through a client of go-redis which the application has: a *redis.Client, a
// *redis.ClusterClient (for a Stint cluster that redirects), or another. Several limiters may share a client. Closing the
// limiter leaves the client open.
func New(client redis.UniversalClient, whenDown Policy, options ...Option) *Limiter {
	return start(universal{client}, newSettings(whenDown, options), func() error { return nil })
}

// Connect makes a limiter with connections of its own to one of the addresses, host:port or a path beginning with /:
// the nodes of one cluster, or one server. It stays with the first that answers, goes on to the next when that one fails
// or says that it cannot serve, and follows redirections to a cluster's leader. It connects when it is first used, so it
// returns at once and the server need not be there yet.
//
// It panics without an address.
func Connect(addresses []string, whenDown Policy, options ...Option) *Limiter {
	if len(addresses) == 0 {
		panic("stint.Connect: needs an address")
	}
	s := newSettings(whenDown, options)
	n := newNodes(addresses, s.timeout, s.connect)
	return start(n, s, n.close)
}

// connect makes a client for one node. Its timeouts are those of a pipeline, not of a call: they end what nobody waits
// for any longer, and must leave time to connect over a slow network.
func (s settings) connect(address string) *redis.Client {
	options := &redis.Options{
		Addr:          address,
		DialTimeout:   patience,
		ReadTimeout:   max(patience/2, 2*s.timeout),
		WriteTimeout:  max(patience/2, 2*s.timeout),
		PoolTimeout:   patience,
		DialerRetries: 1,
		MaxRetries:    -1,
	}
	if address[:min(1, len(address))] == "/" {
		options.Network = "unix"
	}
	for _, configure := range s.configure {
		configure(options)
	}
	return redis.NewClient(options)
}

func start(s sender, set settings, closeSender func() error) *Limiter {
	c := &connection{close: closeSender}
	c.breaker = &breaker{failures: int32(set.failures), coolDown: set.coolDown, changed: func(open bool, cause error) {
		for _, h := range set.hooks {
			if h.Breaker != nil {
				h.Breaker(open, cause)
			}
		}
	}}
	c.breaker.probe = func(ctx context.Context) error {
		ping := redis.NewCmd(ctx, "PING")
		s.send(ctx, []redis.Cmder{once{ping}})
		if _, silent := classify(ping.Err()); silent {
			return ping.Err()
		}
		return nil
	}
	c.pipe = newPipe(watched{s, c.breaker, set.timeout})
	return &Limiter{c, set}
}

// With returns a limiter on the same connections, with a circuit breaker in common, that differs in its timeout, its
// policy or its hooks: one that fails closed for logins beside one that fails open for the rest. Closing either closes
// both.
func (l *Limiter) With(options ...Option) *Limiter {
	s := l.settings
	for _, option := range options {
		option(&s)
	}
	return &Limiter{l.connection, s}
}

// Close ends the limiter: its connections, if Connect made them, and what runs in the background. Calls after it return
// ErrClosed.
func (l *Limiter) Close() (err error) {
	l.once.Do(func() {
		l.breaker.close()
		l.pipe.close()
		err = l.connection.close()
	})
	return err
}

// Open reports whether the circuit breaker is open: Stint is not being asked at present.
func (l *Limiter) Open() bool { return l.breaker.open.Load() }

// watched tells the breaker how a sender does.
type watched struct {
	sender
	breaker *breaker
	timeout time.Duration
}

func (w watched) send(ctx context.Context, commands []redis.Cmder) {
	begun := time.Now()
	overdue := time.AfterFunc(w.timeout, func() { w.breaker.failed(begun, errTimeoutSent) })
	w.sender.send(ctx, commands)
	if !overdue.Stop() {
		return // too late to count as an answer
	}
	if told, silent := classify(commands[0].Err()); silent {
		w.breaker.failed(begun, told)
	} else {
		w.breaker.succeeded()
	}
}

// ask sends a command, unless the breaker is open. The error is classified; it is ctx's own if ctx was over first.
func (l *Limiter) ask(ctx context.Context, arguments []any) (reply any, err error) {
	if l.breaker.open.Load() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, errCircuitOpen
	}
	begun := time.Now()
	command := redis.NewCmd(ctx, arguments...)
	switch err := l.pipe.do(ctx, l.timeout, command); {
	case err == nil:
		return command.Val(), nil
	case err == ErrClosed, err == ctx.Err():
		return nil, err
	default:
		told, _ := classify(err)
		if err == errTimeoutNotSent {
			l.breaker.failed(begun, err)
		}
		return nil, told
	}
}
