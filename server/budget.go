package server

import (
	"reflect"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// budget divides --max-memory, which is about the whole process, between keys and everything else: what Go's heap has
// come to need, room for connections' buffers, and the program itself.
type budget struct {
	total   int64 // --max-memory, or what stands for it
	machine int64 // what stands for it
	program int64 // resident memory that neither keys nor Go's heap account for, as it was at the start
	heap    int64 // the most of late
	keys    int64 // what is left

	startup, peak int64 // memory in use when the server started, and the most of it seen

	full       bool // a governed store's keys have reached it
	forced     engine.Forced
	lastReport int64
}

const (
	programMin = 12 << 20
	programMax = 48 << 20
	// heapForget is by which part what is set aside for the heap falls each time it is looked at, if it is not needed: by
	// half in two hours.
	heapForget = 100_000
	// spareShare of the whole is left for shards that are rebuilt, and for what the heap may need next.
	spareShare  = 50
	minKeys     = 1 << 20
	reportEvery = 10 * time.Second
)

// start looks at the process as it is before it serves anybody.
func (b *budget) start(keyBytes int64) {
	b.machine = machineBytes() / 4 * 3
	of := readGoMemory()
	b.program = min(max(residentBytes()-keyBytes-of.taken, programMin), programMax)
	b.startup = keyBytes + of.objects
}

// divide works out what keys may take.
func (b *budget) divide(cfg *config.Config, heap int64) {
	if b.total = cfg.MaxMemoryBytes; b.total == 0 {
		b.total = b.machine
	}
	b.heap = max(heap, b.heap-b.heap/heapForget)
	buffers := min(cfg.ClientBytes, b.total/16)
	b.keys = max(b.total-b.total/spareShare-b.program-b.heap-buffers, minKeys)
}

// maxKeyBytes is what keys may take at the moment.
func (s *Server) maxKeyBytes() int64 {
	s.budgetMu.Lock()
	defer s.budgetMu.Unlock()
	return s.budget.keys
}

// keepBudget holds keys to what they may take. A store that decides alone refuses to grow by itself; for a governed one,
// the leader has all replicas told.
func (s *Server) keepBudget() {
	cfg := s.Config()
	s.budgetMu.Lock()
	defer s.budgetMu.Unlock()
	b := &s.budget
	of := readGoMemory()
	b.divide(cfg, of.taken)
	b.peak = max(b.peak, s.keys.Bytes()+of.objects)
	s.keys.SetMaxBytes(b.keys)
	s.reportForced()
	if s.cluster == nil || s.cluster.Status().State != command.ClusterLeader {
		return
	}
	used := s.keys.Bytes()
	b.full = used >= b.keys || b.full && used-s.keys.IdleBytes() > b.keys-b.keys/10
	ops := s.keys.Pressure(rulesOf(cfg), b.full)
	if len(ops) > 0 {
		s.decider.Decide(&engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Done: func() {}})
	}
}

func rulesOf(cfg *config.Config) engine.Rules {
	modes := map[string]engine.NewKeys{"deny-new": engine.DenyNew, "allow-new": engine.AllowNew, "overflow": engine.OverflowNew}
	return engine.Rules{NewKeys: modes[cfg.WhenFull], Delimiters: cfg.PrefixDelimiters}
}

// reportForced logs, now and then, how many decisions were made without room for their keys.
func (s *Server) reportForced() {
	b, now := &s.budget, s.clock.Now()
	f := s.keys.Forced()
	if f.Denied+f.Allowed+f.Shared == b.forced.Denied+b.forced.Allowed+b.forced.Shared || now-b.lastReport < int64(reportEvery) {
		return
	}
	s.log.Warn("there was no room for new keys", "when_full", s.Config().WhenFull, "refused", f.Denied-b.forced.Denied,
		"allowed_unlimited", f.Allowed-b.forced.Allowed, "shared_a_limiter", f.Shared-b.forced.Shared,
		"denied_by_it", f.SharedDenied-b.forced.SharedDenied, "keys_memory", s.keys.Bytes(), "keys", s.keys.Len())
	b.forced, b.lastReport = f, now
}

// setQuotas counts keys by the quotas of settings and users.
func (s *Server) setQuotas(ofUsers []acl.Quota) {
	s.quotaMu.Lock()
	defer s.quotaMu.Unlock()
	if ofUsers != nil {
		if s.userQuotas != nil && reflect.DeepEqual(s.userQuotas, ofUsers) {
			return // counting all keys again would tell the same
		}
		s.userQuotas = ofUsers
	}
	var all []engine.Quota
	for _, q := range s.Config().PrefixQuotas {
		all = append(all, engine.Quota{Name: q.Prefix, Prefixes: []string{q.Prefix}, MaxKeys: q.MaxKeys})
	}
	for _, q := range s.userQuotas {
		all = append(all, engine.Quota{Name: "user " + q.User, Prefixes: q.Prefixes, MaxKeys: q.MaxKeys})
	}
	s.keys.SetQuotas(all)
}

// infoForced is what INFO memory shows of it.
func (s *Server) infoForced() []field {
	f := s.keys.Forced()
	return []field{
		{"keys_memory_limit", s.maxKeyBytes()}, {"when_full", s.Config().WhenFull}, {"new_keys_refused", f.Denied},
		{"new_keys_allowed_unlimited", f.Allowed}, {"new_keys_shared_limiter", f.Shared}, {"new_keys_shared_limiter_denied", f.SharedDenied},
		{"overflow_limiters", f.Limiters}, {"restricted_prefixes", f.Keys},
	}
}

// infoQuotas is a line for each quota.
func (s *Server) infoQuotas() (fields []field) {
	s.keys.QuotaCounts(func(q engine.Quota, keys int64) {
		fields = append(fields, field{"quota_" + infoName(q.Name), keys})
	})
	return fields
}

// maxMemory is the bound on the process's memory.
func (s *Server) maxMemory() int64 {
	s.budgetMu.Lock()
	defer s.budgetMu.Unlock()
	return s.budget.total
}
