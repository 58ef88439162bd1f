package server

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/top"
)

// Server accepts connections and answers them. Create one with [New], run it with [Server.Serve].
type Server struct {
	settings    atomic.Pointer[config.Config]
	setMu       sync.Mutex // one CONFIG SET at a time
	decider     Decider
	keys        Sweeper
	clock       *Clock
	log         *slog.Logger
	version     string
	keeper      Keeper                          // nil if nothing is kept on disk
	cluster     Membership                      // nil if this server stands alone
	handOver    func(ctx context.Context) error // nil for nothing
	redirecting bool                            // as a node of a cluster it may answer MOVED
	changed     func(*config.Config)
	runID       string
	users       *acl.Users
	guard       guard

	clients    clients
	budgetMu   sync.Mutex
	budget     budget
	quotaMu    sync.Mutex
	userQuotas []acl.Quota
	secrets    atomic.Pointer[secrets]
	inputs     sync.Pool    // of *[readChunk]byte
	buffered   atomic.Int64 // bytes in all connections' buffers
	waits      *waits
	stats      stats
	recorder   *metrics.Recorder
	denied     *top.Sketch
	keySalt    string    // of HashKey
	operator   *acl.User // who may do everything
	lag        lag
	slowlog    slowlog
	spikes     spikes
	monitors   monitors
	workspaces sync.Pool
	late       late

	gate      gate
	loops     *loops
	refusedAt atomic.Int64 // clock: when it was last logged that a connection could not be accepted

	serving  atomic.Bool // connections are accepted
	ending   atomic.Bool // told to end: not ready any more
	parting  atomic.Bool // a connection closes once a limiter command on it has been answered
	draining atomic.Bool // a connection closes as soon as it is owed nothing
	hurry    atomic.Bool // drain without waiting
	stop     func()      // ends Serve; set by it
	stopMu   sync.Mutex
}

// Sweeper is the store as the server looks after it.
type Sweeper interface {
	command.Keyspace
	Sweep(now int64, count int) (looked, dropped int)
	SetMaxBytes(bytes int64)
	SetRules(r engine.Rules)
	SetQuotas(all []engine.Quota)
	QuotaCounts(visit func(q engine.Quota, keys int64))
	Pressure(rules engine.Rules, full bool) []engine.Op
	Forced() engine.Forced
	IdleBytes() int64
	PolicyCounts(visit func(engine.Policy))
	AppendPolicyKey(b, policy, id []byte, part int) []byte
}

// Options are the parts a server is made of.
type Options struct {
	Config  config.Config
	Decider Decider
	Keys    Sweeper // the local store, for SCAN, INFO and expiry
	Clock   *Clock
	Log     *slog.Logger
	Version string
	Keeper  Keeper     // nil if nothing is kept on disk
	Cluster Membership // nil if this server stands alone
	// HandOver has another node of the cluster lead, if this one does. It is called before the server drains, while
	// connections are still served. Nil for nothing.
	HandOver func(ctx context.Context) error
	Changed  func(*config.Config) // called after a CONFIG SET; nil for nothing
	Users    *acl.Users           // nil for the default user alone, with the password in Config if there is one
}

// New returns a server that listens to nothing yet.
func New(o Options) *Server {
	s := &Server{decider: o.Decider, keys: o.Keys, clock: o.Clock, log: o.Log, version: o.Version, keeper: o.Keeper, cluster: o.Cluster, handOver: o.HandOver, changed: o.Changed, runID: newRunID()}
	s.redirecting = o.Cluster != nil && o.Config.Redirect == "moved"
	s.settings.Store(&o.Config)
	s.guard = newGuard()
	if s.users = o.Users; s.users == nil {
		s.users, _ = acl.New(acl.Options{DefaultPassword: (*acl.Hash)(o.Config.Password()), LogLength: o.Config.ACLLogLength}) // fails for a file only
	}
	operators, _ := acl.New(acl.Options{})
	s.operator = operators.Default()
	s.clients.byID, s.clients.perNetwork = make(map[int64]*session), make(map[string]int)
	s.keys.SetRules(rulesOf(&o.Config))
	s.budget.start(s.keys.Bytes())
	s.budget.divide(&o.Config, readGoMemory().taken)
	s.setQuotas([]acl.Quota{})
	s.users.Watch(s.closeOf, s.setQuotas)
	s.waits = newWaits(o.Clock)
	s.recorder, s.denied, s.keySalt = newRecorder(), top.NewSketch(), newRunID()
	s.inputs.New = func() any { return new([readChunk]byte) }
	s.workspaces.New = func() any { return &workspace{tally: s.recorder.NewTally()} }
	return s
}

// Config returns the settings in force.
func (s *Server) Config() *config.Config { return s.settings.Load() }

// Serve listens and answers until ctx is done, then ends in steps, as [Server.end] says. ready is called once connections
// are accepted, with the addresses in use.
func (s *Server) Serve(ctx context.Context, ready func(addresses []string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.stopMu.Lock()
	s.stop = stop
	s.stopMu.Unlock()
	defer s.waits.stop()
	defer s.late.end()

	addresses, err := s.listen()
	if err != nil {
		return err
	}
	s.serving.Store(true)
	ready(addresses)
	tending := make(chan struct{})
	tendingUntil, endTending := context.WithCancel(context.Background())
	go func() {
		defer close(tending)
		s.tend(tendingUntil)
	}()
	<-ctx.Done()
	err = s.end()
	endTending()
	<-tending
	return err
}

// Now implements [command.Server].
func (s *Server) Now() int64 { return s.clock.Now() }

// Keys implements [command.Server].
func (s *Server) Keys() command.Keyspace { return s.keys }

// Membership implements [command.Server].
func (s *Server) Membership() command.Membership { return s.cluster }

func (s *Server) borrow() *workspace { return s.workspaces.Get().(*workspace) }

// The most room a workspace keeps for its next use.
const (
	keepOutputBytes = 2 * outputChunk
	keepOps         = 4 * maxBatchOps
)

func (s *Server) giveBack(ws *workspace) {
	if max(cap(ws.batch.Ops), cap(ws.replies)) > keepOps {
		return // one transaction, or one DEL of very many keys, made it far larger than the next will need
	}
	if cap(ws.out.Buf) > keepOutputBytes {
		ws.out.Buf = nil
	}
	ws.out.Buf = ws.out.Buf[:0]
	s.workspaces.Put(ws)
}

// release is giveBack for a session's workspace, unless the decider has not finished with it.
func (s *Server) release(of *session, ws *workspace) {
	if of.kept != ws {
		s.giveBack(ws)
	}
}

// count notes what a workspace is about to send.
func (s *Server) count(ws *workspace) { ws.tally.Bytes(0, len(ws.out.Buf)) }
