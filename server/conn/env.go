package conn

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/keywait"
	"github.com/stintdb/stint/server/conn/registry"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/denials"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/fairqueue"
	"github.com/stintdb/stint/server/keyevents"
	"github.com/stintdb/stint/server/latency"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/monitor"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/recent"
	"github.com/stintdb/stint/server/slowlog"
	"github.com/stintdb/stint/server/stats"
	"github.com/stintdb/stint/server/topkeys"
	"github.com/stintdb/stint/server/tracking"
	"github.com/stintdb/stint/server/waitqueue"
)

// Env is everything that sessions share. The exported fields are set before [Env.Start].
type Env struct {
	Settings *atomic.Pointer[config.Config] // may be replaced at any time
	Clock    *clock.Clock
	Log      *slog.Logger
	Decider  decider.Decider
	Keys     localstore.Store
	Users    *acl.Users
	Server   command.Server     // for commands that are not limiters
	Cluster  command.Membership // nil if the server stands alone
	Redirect bool               // as a node of a cluster it may answer MOVED

	WaitQueue *waitqueue.Queue
	Blocked   blocking.Keys // that commands wait for
	Logins    *loginlimit.Limiter
	Stats     *stats.Stats
	TopKeys   *topkeys.Sketch
	Recent    *recent.Record
	SlowLog   *slowlog.Log
	Latency   *latency.Monitor
	Buffers   *memlimit.Buffers

	Registry  registry.Registry
	Monitors  *monitor.Monitors
	Lookups   *data.Lookups
	Events    events.Log
	Denials   denials.Events
	KeySalt   string // of HashKey
	Channels  *pubsub.Channels
	KeyEvents *keyevents.Hub  // changes of keys
	Tracking  *tracking.Table // made by Start

	Draining          atomic.Bool // a connection closes as soon as it is owed nothing
	ClosingAfterReply atomic.Bool // a connection closes once a limiter command on it has been answered

	leaders uint64 // as FollowLeader saw them last

	pause     clientPause
	batches   sync.Pool
	callers   sync.Pool // of sessions, see getCaller
	cleanup   cleanup
	keyWaits  keywait.Env
	longWork  *fairqueue.Queue // beside the event loops
	turns     *fairqueue.Turns // of sessions without an event loop
	userRates *store.Store     // of users with a cap on requests a second
}

// Start makes the environment ready for sessions.
func (e *Env) Start() {
	e.Denials.Log = e.Log
	if e.Monitors == nil {
		e.Monitors, e.Lookups = new(monitor.Monitors), new(data.Lookups)
	}
	e.longWork = fairqueue.New(func(b *engine.Batch) bool { return e.Decider.Decide(b) }, e.Clock.Now)
	// With as many turns as loops, connections by TLS took 15 % more CPU.
	e.turns = fairqueue.NewTurns(e.config().LoopCount() + 1)
	e.userRates = store.New(store.Config{Shards: 16})
	waits := e.KeyEvents.NewListener(e.Blocked.Changed)
	e.keyWaits = keywait.Env{Blocked: &e.Blocked, Queue: e.WaitQueue, Clock: e.Clock, Keys: e.Keys}
	e.Blocked.Start(waits.Listen, waits.Stop)
	tracks := e.KeyEvents.NewListener(func(key []byte) { e.Tracking.Changed(key) })
	e.Tracking = tracking.NewTable(&e.Registry.Fanout, e.trackingBounds, tracks.Listen, tracks.Stop)
	e.Registry.Start(registry.Env{Settings: e.Settings, Clock: e.Clock, Log: e.Log, Counts: e.Stats, Buffers: e.Buffers,
		Tracking: e.Tracking, Later: e.cleanup.run, SessionBytes: int(unsafe.Sizeof(Session{}))})
	e.batches.New = func() any { return &commandBatch{tally: e.Stats.Recorder.NewTally()} }
}

// trackingBounds are the bounds of the keys that clients keep: a quarter of --client-memory.
func (e *Env) trackingBounds() tracking.Bounds {
	return tracking.Bounds{Keys: int64(e.config().TrackingKeys), Bytes: e.Buffers.Most.Load() / 4}
}

// DoesLongWork reports whether something is being decided beside the event loops.
func (e *Env) DoesLongWork() bool { return e.longWork.IsRunning() }

// FollowLeader makes the clients that wait for keys attempt again if another node leads now, which does not know of
// them.
func (e *Env) FollowLeader() {
	if e.Cluster == nil {
		return
	}
	if now := e.Cluster.Leaders(); now != 0 && now != e.leaders {
		e.leaders = now
		e.Blocked.Restate()
	}
}

// End waits for the refunds of connections that are closed, and starts no more.
func (e *Env) End() {
	e.cleanup.end()
	e.longWork.Wait()
}

func (e *Env) config() *config.Config { return e.Settings.Load() }

// logDenial adds an entry to ACL LOG.
func (e *Env) logDenial(d command.Denial) {
	d.Last = e.Clock.Now()
	e.Users.Log.Add(d)
}

// refund returns the tokens of a reservation, or of the limits that it asked, as far as they are still taken after a
// time. If the cluster cannot decide, they stay taken, which grants too little and never too much.
func (e *Env) refund(reserved *engine.Op, asked []engine.Op, granted *engine.Result, elapsed int64) {
	var ops []engine.Op
	if lease := reserved.FirstLease() < 0; lease {
		ops = []engine.Op{{Verb: engine.Release, Key: reserved.Key, Who: reserved.Who}}
	} else if reserved.Verb == engine.Acquire {
		ops = []engine.Op{{Verb: engine.Refund, Key: reserved.Key, Tokens: granted.Granted}}
	} else {
		for i := range min(len(asked), len(granted.Parts)) {
			limit := &asked[i]
			switch tokens := granted.Parts[i].StillTaken(limit.Limit, elapsed); {
			case tokens == 0:
			case limit.Limit.Algorithm == limits.Concurrency:
				ops = append(ops, engine.Op{Verb: engine.Release, Key: limit.Key, Who: limit.Who})
			default:
				ops = append(ops, engine.Op{Verb: engine.Refund, Key: limit.Key, Tokens: tokens})
			}
		}
	}
	e.Decider.Decide(&engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: func() {}})
}

// takeRequest counts a request against its user's cap and returns why it is refused.
func (e *Env) takeRequest(u *acl.User) error {
	perSecond := u.MaxRate()
	if perSecond == 0 {
		return nil
	}
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: perSecond,
		Rate: limits.Rate{Tokens: perSecond, Period: int64(time.Second)}}
	results := [1]engine.Result{}
	e.userRates.Apply(e.Clock.Now(), []engine.Op{{Key: []byte("user " + u.Name()), Limit: limit, Tokens: 1}}, results[:])
	r := &results[0]
	if r.Allowed || r.Status != engine.OK {
		return nil
	}
	e.Stats.Reject(stats.OverUserRate)
	return command.ErrRateLimited.With(u.Name(), perSecond, (r.Wait+999_999)/1e6)
}

// SweepUserRates forgets the request rates of users that have paused.
func (e *Env) SweepUserRates(count int) { e.userRates.Sweep(e.Clock.Now(), count) }

// cleanup runs refunds for closed connections on separate goroutines, until the server ends.
type cleanup struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// run starts f, unless the server has ended: the store may be closed by then.
func (l *cleanup) run(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.running.Go(f)
	}
}

// end waits for everything that was started, and starts nothing more.
func (l *cleanup) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.running.Wait()
}
