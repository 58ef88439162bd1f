// Package memlimit keeps the process within --max-memory: it divides it between keys and Go's heap, and has Go's
// garbage collector keep to the heap's part.
package memlimit

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/sysmem"
)

// Buffers counts the bytes of all connections' buffers.
type Buffers struct {
	Bytes atomic.Int64
	Most  atomic.Int64 // their bound: --client-memory, or its default by --max-memory
}

// Env has the parts of the server that a [Limiter] works with.
type Env struct {
	Settings *atomic.Pointer[config.Config] // may be replaced at any time
	Clock    *clock.Clock
	Log      *slog.Logger
	Keys     localstore.Memory
	// IsLeader reports whether this node has all nodes of its cluster carry out what Propose is given. Nil if the
	// server stands alone.
	IsLeader func() bool
	Propose  func(ops []engine.Op)
}

// Limiter keeps the process within --max-memory. Its methods may be called from any goroutine.
type Limiter struct {
	Env
	Buffers Buffers

	mu        sync.Mutex
	budget    budget
	collector collector
}

// New looks at the process before it serves anybody.
func New(env Env) *Limiter {
	m := &Limiter{Env: env, collector: newCollector()}
	m.budget.start(m.Keys.Bytes())
	m.budget.divide(m.Settings.Load(), m.Clock.Now(), m.Keys.Bytes(), readGoMemory(), 0)
	m.Buffers.Most.Store(m.Settings.Load().ClientMemory(m.budget.total))
	return m
}

// Enforce holds keys to their part. A standalone store enforces the bound directly; in a cluster the leader proposes it
// to all replicas.
func (m *Limiter) Enforce() {
	cfg := m.Settings.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &m.budget
	of, now := readGoMemory(), m.Clock.Now()
	b.noteProgram(sysmem.MappedFiles())
	b.divide(cfg, now, m.Keys.Bytes(), of, m.Buffers.Bytes.Load())
	m.Buffers.Most.Store(cfg.ClientMemory(b.total))
	b.peak = max(b.peak, m.Keys.Bytes()+of.objects)
	m.Keys.SetMaxBytes(b.keys)
	m.collector.setLimit(b.available()-m.Keys.Bytes()-b.growth, of.live)
	m.collector.scavenge(now, of.taken, b.total)
	m.reportForced()
	if m.IsLeader == nil {
		return
	}
	used := m.Keys.Bytes()
	reserved := m.Keys.ReservedBytes() // not for new keys
	b.full = used >= b.keys-reserved || b.full && used-m.Keys.IdleBytes() > b.part-reserved-b.part/10
	if ops := m.Keys.Pressure(RulesOf(cfg), b.full); len(ops) > 0 && m.IsLeader() {
		m.Propose(ops)
	}
}

// ForgetPeak works out the keys' part by the heap as it is now, without its peaks of the last seconds.
func (m *Limiter) ForgetPeak() {
	m.mu.Lock()
	m.budget.heap = recentHeap{}
	m.mu.Unlock()
	m.Enforce()
}

// MaxKeyBytes is the most that keys may take at the moment.
func (m *Limiter) MaxKeyBytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.budget.keys
}

// MaxMemory is the bound on the process's memory.
func (m *Limiter) MaxMemory() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.budget.total
}

// Memory implements [command.Observer].
func (m *Limiter) Memory() command.MemoryUse {
	of := readGoMemory()
	use := command.MemoryUse{
		Keys: m.Keys.Bytes(), Heap: of.objects, HeapIdle: of.idle, Resident: sysmem.RSS(),
		ClientBuffers: m.Buffers.Bytes.Load(),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &m.budget
	b.peak = max(b.peak, use.Used())
	use.KeysLimit, use.Startup, use.Peak, use.System = b.keys, b.startup, b.peak, b.system
	return use
}

// ReleaseMemory implements [command.Observer].
func (m *Limiter) ReleaseMemory(done func()) {
	m.collector.run(m.Clock.Now, func() {
		m.ForgetPeak()
		done()
	})
}

// Wait returns when no collection is under way.
func (m *Limiter) Wait() { m.collector.running.Wait() }

// reportForced logs, now and then, the number of decisions that were made without room for their keys. The caller holds
// mu.
func (m *Limiter) reportForced() {
	b, now := &m.budget, m.Clock.Now()
	f := m.Keys.NewKeyCounts()
	if f.Denied+f.Allowed+f.Shared == b.forced.Denied+b.forced.Allowed+b.forced.Shared ||
		now-b.lastReport < int64(reportEvery) {
		return
	}
	m.Log.Warn("memory was full when requests with new keys came, so --when-full decided about them", "when_full", m.Settings.Load().WhenFull,
		"refused", f.Denied-b.forced.Denied,
		"allowed_unlimited", f.Allowed-b.forced.Allowed, "shared_a_limiter", f.Shared-b.forced.Shared,
		"denied_by_it", f.SharedDenied-b.forced.SharedDenied, "keys_memory", m.Keys.Bytes(), "keys", m.Keys.Len())
	b.forced, b.lastReport = f, now
}

// RulesOf are the settings' rules for new keys when memory is full.
func RulesOf(cfg *config.Config) admission.Rules {
	modes := map[string]engine.NewKeys{"deny-new": engine.DenyNew, "allow-new": engine.AllowNew,
		"overflow": engine.OverflowNew}
	return admission.Rules{NewKeys: modes[cfg.WhenFull], Delimiters: cfg.PrefixDelimiters}
}
