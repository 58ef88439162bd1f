package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/transaction"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/info"
	"github.com/stintdb/stint/server/keyevents"
	"github.com/stintdb/stint/server/latency"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/monitor"
	"github.com/stintdb/stint/server/netio"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/recent"
	"github.com/stintdb/stint/server/slowlog"
	"github.com/stintdb/stint/server/stats"
	"github.com/stintdb/stint/server/topkeys"
	"github.com/stintdb/stint/server/waitqueue"
	"github.com/stintdb/stint/server/warn"
)

// Server accepts connections and answers them. Create one with [New], run it with [Server.Serve].
type Server struct {
	env            conn.Env
	settings       atomic.Pointer[config.Config]
	setMu          sync.Mutex // one CONFIG SET at a time
	keys           localstore.Store
	persistence    Persistence                     // nil if nothing is kept on disk
	handLeadership func(ctx context.Context) error // nil for nothing
	backup         Backup                          // nil for none
	changed        func(*config.Config)
	clientLimit    int // 0 for no bound
	handoffLimit   int
	keepProcessors bool

	quotas       quotas
	tls          *netio.TLSServer
	gateway      *gateway.Gateway
	services     []gateway.Service
	memory       *memlimit.Limiter
	operatorUser *acl.User // who may do everything
	warnings     *warn.Warnings
	lag          netio.LoopLag

	info info.Source

	acceptor   netio.Acceptor
	eventLoops *netio.EventLoops

	serving      atomic.Bool // connections are accepted
	shuttingDown atomic.Bool // no longer ready
	forceStop    atomic.Bool // drain without waiting
	stop         func()      // ends Serve; set by it
	stopMu       sync.Mutex
}

// Options are the parts a server is made of.
type Options struct {
	Config      config.Config
	Decider     decider.Decider
	Keys        localstore.Store // the local store, for SCAN, INFO and expiry
	Commands    *Commands        // of the local store; nil if nobody asks what they do
	Clock       *clock.Clock
	Log         *slog.Logger
	Version     string
	Commit      string      // of the source, or "" if unknown
	Persistence Persistence // nil if nothing is kept on disk
	Cluster     Membership  // nil if this server stands alone
	// TransferLeadership has another node of the cluster lead, if this one does. It is called before the server drains,
	// while connections are still served. Nil for nothing.
	TransferLeadership func(ctx context.Context) error
	Backup             Backup               // nil for none
	Upstream           info.Upstream        // nil without a home cluster
	Changed            func(*config.Config) // called after a CONFIG SET; nil for nothing
	Channels           *pubsub.Channels     // to which the store publishes; nil if it does not
	KeyEvents          *keyevents.Hub       // of the store; nil if it reports no changes
	Warnings           *warn.Warnings       // of the store; nil if it gives none
	Users              *acl.Users           // nil for the default user alone, with the password in Config if there is one

	Services []gateway.Service // of protocols other than RESP

	ClientLimit  int // bounds --max-clients, for want of file descriptors; 0 for no bound
	HandoffLimit int // connections on their way to an event loop at a time; 0 for 256

	// KeepProcessors lets each event loop keep a processor of the Go runtime while it waits; GOMAXPROCS must count one
	// more for each loop.
	KeepProcessors bool
}

// New returns a server that listens to nothing yet.
func New(o Options) *Server {
	s := &Server{keys: o.Keys, persistence: o.Persistence, handLeadership: o.TransferLeadership,
		changed: o.Changed, backup: o.Backup, warnings: o.Warnings}
	if s.warnings == nil {
		s.warnings = warn.New(warn.Options{})
	}
	s.settings.Store(&o.Config)
	s.clientLimit, s.handoffLimit, s.keepProcessors = o.ClientLimit, cmp.Or(o.HandoffLimit, netio.MaxHandoffs),
		o.KeepProcessors
	if o.Users == nil {
		// It fails only for a file.
		o.Users, _ = acl.New(acl.Settings{DefaultPassword: (*acl.Hash)(o.Config.Password()),
			LogLength: o.Config.ACLLogLength})
	}
	operators, _ := acl.New(acl.Settings{})
	s.operatorUser = operators.Default()
	s.gateway, s.services = gateway.New(&s.env, s), o.Services
	s.setEnv(&o)
	s.info = info.Source{
		Env: &s.env, Memory: s.memory, Lag: &s.lag, Keys: s.keys, Persistence: o.Persistence, Upstream: o.Upstream,
		LastSave: s.LastSave, Ready: s.Ready,
		Version: o.Version, Commit: o.Commit, RunID: newRunID(),
	}
	s.keys.SetRules(memlimit.RulesOf(&o.Config))
	s.quotas.keys, s.quotas.settings = s.keys, &s.settings
	s.quotas.setOfSettings()
	s.env.Users.Watch(s.env.Registry.CloseUser, s.quotas.setOfUsers)
	return s
}

// setEnv makes the parts that sessions share.
func (s *Server) setEnv(o *Options) {
	e := &s.env
	e.Settings, e.Clock, e.Log, e.Decider, e.Keys, e.Users = &s.settings, o.Clock, o.Log, o.Decider, o.Keys, o.Users
	e.Server, e.Cluster, e.Redirect = s, o.Cluster, o.Cluster != nil && o.Config.Redirect == "moved"
	if o.Commands == nil {
		o.Commands = new(Commands)
	}
	e.Lookups, e.Monitors = &o.Commands.lookups, &o.Commands.monitors
	e.Channels = o.Channels
	if e.Channels == nil {
		e.Channels = new(pubsub.Channels)
	}
	e.KeyEvents = o.KeyEvents
	if e.KeyEvents == nil {
		e.KeyEvents = new(keyevents.Hub)
	}
	s.memory = s.newMemoryLimiter()
	e.Buffers, e.Stats, e.TopKeys = &s.memory.Buffers, stats.New(), topkeys.NewSketch()
	e.Recent, e.KeySalt = recent.NewRecord(), newRunID()
	e.SlowLog, e.Latency = slowlog.New(e.Settings), latency.New(e.Settings, e.Clock)
	e.WaitQueue = waitqueue.New(e.Clock)
	e.Logins = loginlimit.New(e.Clock, e.WaitQueue)
	e.Start()
	s.tls = netio.NewTLSServer(e)
}

// newMemoryLimiter returns the limiter of the process's memory. The leader of a cluster proposes changes to all nodes.
func (s *Server) newMemoryLimiter() *memlimit.Limiter {
	env := memlimit.Env{Settings: &s.settings, Clock: s.env.Clock, Log: s.env.Log, Keys: s.keys,
		Propose: func(ops []engine.Op) {
			s.env.Decider.Decide(&engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: func() {}})
		}}
	if s.env.Cluster != nil {
		env.IsLeader = s.env.Cluster.Leads
	}
	return memlimit.New(env)
}

// Config returns the settings in force.
func (s *Server) Config() *config.Config { return s.settings.Load() }

// Serve listens and answers until ctx is done, then ends in steps, as [Server.shutdown] says. ready is called once
// connections are accepted, with the addresses in use.
func (s *Server) Serve(ctx context.Context, ready func(addresses []string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.stopMu.Lock()
	s.stop = stop
	s.stopMu.Unlock()
	defer s.env.WaitQueue.Stop()
	defer s.env.End()
	defer s.memory.Wait()

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
		s.housekeep(tendingUntil)
	}()
	warning := make(chan struct{})
	go func() {
		defer close(warning)
		s.warnings.Run(tendingUntil, func() bool { return s.env.Cluster == nil || s.env.Cluster.Leads() })
	}()
	<-ctx.Done()
	err = s.shutdown()
	endTending()
	<-tending
	<-warning
	return err
}

// Now implements [command.Server].
func (s *Server) Now() int64 { return s.env.Clock.Now() }

// Keys implements [command.Server].
func (s *Server) Keys() localstore.Keyspace { return s.keys }

// Membership implements [command.Server].
func (s *Server) Membership() command.Membership { return s.env.Cluster }

// newRunID returns 40 hexadecimal digits, as Redis identifies one run of a server.
func newRunID() string {
	id := make([]byte, 20)
	_, _ = rand.Read(id) // never fails: the runtime ends the process instead
	return hex.EncodeToString(id)
}

// Commands makes the parts of stores that carry out commands on data and scripts. It notes what these do, for INFO and
// MONITOR. The zero value is ready for use.
type Commands struct {
	lookups  data.Lookups
	monitors monitor.Monitors
}

// On returns the part of a store. owns is nil unless the store has the keys of one of several groups.
func (c *Commands) On(cfg *config.Config, owns func(key []byte) bool) transaction.Commands {
	e := &data.Executor{ScriptTime: data.ScriptTime, Owns: owns, Lookups: &c.lookups, Monitors: &c.monitors}
	if !cfg.IsCluster() {
		e.Databases = cfg.Databases
	}
	return e
}
