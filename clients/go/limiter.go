package stint

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// DefaultTimeout is the longest time that a call waits for Stint without the option [Timeout].
const DefaultTimeout = 20 * time.Millisecond

// A Limiter sends requests to a Stint server. Make one with [Connect] or [New] and keep it while the program runs; all
// goroutines can share it.
type Limiter struct {
	*connection
	settings
}

// connection is shared by limiters made from one another with With.
type connection struct {
	pipes   *pipes
	breaker *breaker
	first   firstCalls
	streams estimates
	node    func(ctx context.Context, key string) *redis.Client // nil if the sender names none
	close   func() error
	once    sync.Once

	ended context.Context // over when the limiter is closed
	end   context.CancelFunc
}

// settings belong to one limiter; With copies them.
type settings struct {
	timeout  time.Duration
	policy   Policy
	local    *local // of LocalShare
	assumed  map[string][]Limit
	hooks    []Hooks
	priority int    // of Priority
	left     **call // where to put a call that was sent and whose reply the caller did not see; see leaving

	connectTimeout time.Duration
	failures       int
	coolDown       time.Duration
	configure      []func(*redis.Options)
}

// An Option changes how a limiter behaves.
type Option func(*settings)

// Timeout is the longest time that a call waits for Stint before the fallback decides. The default is 20 ms. For the
// first calls see [ConnectTimeout]; later ones include the time to connect again. It panics unless d is above 0.
//
// The timeouts of a client given to [New] concern its connections and may be longer: an attempt to connect may go on
// after its callers have left.
func Timeout(d time.Duration) Option {
	if d <= 0 {
		panic("stint.Timeout: must be above 0, got " + d.String())
	}
	return func(s *settings) { s.timeout = d }
}

// ConnectTimeout is the longest time that the first calls wait for the connection and its first reply. The default is
// 1 s, or [Timeout] if that is longer. Once a call was answered or has failed, Timeout holds for all. [Limiter.With]
// ignores it. It panics unless d is above 0.
func ConnectTimeout(d time.Duration) Option {
	if d <= 0 {
		panic("stint.ConnectTimeout: must be above 0, got " + d.String())
	}
	return func(s *settings) { s.connectTimeout = d }
}

// WhenDown is the policy while Stint does not answer. [Connect] and [New] take it as an argument; this is for
// [Limiter.With].
func WhenDown(p Policy) Option {
	return func(s *settings) {
		s.policy, s.local = p, nil
		if p.kind == localShare {
			s.local = newLocal(p.share)
		}
	}
}

// AssumePolicy gives [LocalShare] the limits of the named policy, which it cannot request from a server that is down.
// Each id given to [Limiter.Check], with other fields each time it is given any, is held to them separately.
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

// WithHooks calls functions for every decision and when the circuit breaker opens and closes. If it is given twice,
// both are called. Breaker hooks belong to the connection: those given to [Limiter.With] are not called.
func WithHooks(h Hooks) Option {
	return func(s *settings) { s.hooks = append(slices.Clip(s.hooks), h) }
}

// Breaker sets the number of failures in a row that opens the circuit breaker (default 5), and the mean delay before
// each of its probes (default 250 ms). Failures that overlap in time count once. It belongs to the connection, so
// [Limiter.With] ignores it. It panics unless both are above 0.
func Breaker(failures int, coolDown time.Duration) Option {
	if failures <= 0 || coolDown <= 0 {
		panic("stint.Breaker: both must be above 0")
	}
	return func(s *settings) { s.failures, s.coolDown = failures, coolDown }
}

// ClientOptions changes the go-redis options of the connections that [Connect] makes, such as TLS and passwords. It is
// for Connect only.
func ClientOptions(configure func(*redis.Options)) Option {
	return func(s *settings) { s.configure = append(s.configure, configure) }
}

func newSettings(whenDown Policy, options []Option) settings {
	s := settings{timeout: DefaultTimeout, connectTimeout: DefaultConnectTimeout, failures: defaultFailures, coolDown: defaultCoolDown, priority: usualPriority}
	WhenDown(whenDown)(&s)
	for _, option := range options {
		option(&s)
	}
	return s
}

// New makes a limiter that sends through the application's go-redis client: a *redis.Client, a *redis.ClusterClient
// (for a Stint cluster that redirects), or another. Several limiters may share a client. Closing the limiter leaves the
// client open.
func New(client redis.UniversalClient, whenDown Policy, options ...Option) *Limiter {
	return start(universal{client}, newSettings(whenDown, options), func() error { return nil })
}

// Connect makes a limiter with separate connections to one of the addresses, host:port or a path beginning with /: the
// nodes of one cluster, or one server. It stays with the first that answers, goes on to the next when that one fails or
// replies that it cannot serve, and follows redirections to a cluster's leader. In a cluster with groups, it sends each
// request to the leader of its key, if the leader's address is one of these or was named by a redirection. It connects on
// first use, so it returns at once and the server may be started later.
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

// connect makes a client for one node. Its timeouts are those of a pipeline, not of a call: they end work whose callers
// have left, and must leave time to connect over a slow network.
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
	if options.Dialer == nil {
		options.Dialer = redis.NewDialer(options)
	}
	options.Dialer = uncounted(options.Dialer)
	return redis.NewClient(options)
}

func start(s sender, set settings, closeSender func() error) *Limiter {
	c := &connection{first: firstCalls{connectTimeout: set.connectTimeout}, close: closeSender}
	c.node = func(context.Context, string) *redis.Client { return nil }
	if named, ok := s.(interface {
		node(ctx context.Context, key string) *redis.Client
	}); ok {
		c.node = named.node
	}
	c.ended, c.end = context.WithCancel(context.Background())
	c.breaker = &breaker{failures: int32(set.failures), coolDown: set.coolDown, changed: func(open bool, cause error) {
		tellBreaker(set.hooks, open, cause)
	}}
	c.breaker.probe = func(ctx context.Context) error {
		ping := redis.NewCmd(ctx, "PING")
		s.send(ctx, []redis.Cmder{once{ping}})
		if _, silent := classify(ping.Err()); silent {
			return ping.Err()
		}
		return nil
	}
	c.pipes = newPipes(s, func(s sender) *pipe { return newPipe(watched{s, c.breaker, set.timeout}) })
	return &Limiter{c, set}
}

// With returns a limiter on the same connections, with the same circuit breaker, that differs in its timeout, its
// policy or its hooks: for example one that fails closed, for logins, beside one that fails open. Closing either closes
// both.
func (l *Limiter) With(options ...Option) *Limiter {
	s := l.settings
	for _, option := range options {
		option(&s)
	}
	return &Limiter{l.connection, s}
}

// within is the limiter with another timeout.
func (l *Limiter) within(timeout time.Duration) *Limiter {
	s := l.settings
	s.timeout = timeout
	return &Limiter{l.connection, s}
}

// leaving is a limiter for one request: it sets left to the request's call if the caller leaves before the reply.
func leaving(l *Limiter, left **call) *Limiter {
	s := l.settings
	s.left = left
	return &Limiter{l.connection, s}
}

// Close ends the limiter: its connections, if Connect made them, and its background work. Calls after it return
// ErrClosed.
func (l *Limiter) Close() (err error) {
	l.once.Do(func() {
		l.end()
		l.breaker.close()
		l.pipes.close()
		err = l.connection.close()
	})
	return err
}

// Open reports whether the circuit breaker is open: no requests are sent to Stint at present.
func (l *Limiter) Open() bool { return l.breaker.open.Load() }

// watched reports a sender's successes and failures to the breaker.
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

// ask sends a command, unless the breaker is open. The error is classified, or ctx's error if ctx was over first.
func (l *Limiter) ask(ctx context.Context, arguments []any) (reply any, err error) {
	return l.askWithin(ctx, l.timeout, arguments)
}

func (l *Limiter) askWithin(ctx context.Context, timeout time.Duration, arguments []any) (reply any, err error) {
	if l.breaker.open.Load() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, errCircuitOpen
	}
	begun := time.Now()
	c := newCall(redis.NewCmd(ctx, arguments...))
	err = l.pipes.of(arguments).do(ctx, l.first.within(timeout), c)
	l.first.end()
	if l.left != nil && err != nil && c.state.Load() == sent {
		*l.left = c
	}
	switch {
	case err == nil:
		return c.command.Val(), nil
	case errors.Is(err, ErrClosed), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	default:
		told, _ := classify(err)
		if errors.Is(err, errTimeoutNotSent) {
			l.breaker.failed(begun, err)
		}
		return nil, told
	}
}
