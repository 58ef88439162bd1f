package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"runtime"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/top"
)

// Reading is everything metrics show, at this instant.
func (s *Server) Reading() *metrics.Reading {
	r := &metrics.Reading{
		Version: s.version, GoVersion: runtime.Version(), Uptime: s.clock.Uptime(), Ready: s.Ready() == nil,
		Connections: int64(s.clients.count()), Blocked: int64(s.waits.Len()),
		ConnectionsAccepted: s.stats.connections.Load(), ConnectionsRejected: s.stats.rejected.Load(), SlowReaders: s.stats.slowReaders.Load(),
		Keys: int64(s.keys.Len()), KeyBytes: s.keys.Bytes(), MaxBytes: s.maxKeyBytes(), Expired: s.stats.expired.Load(),
		TopWeight: s.denied.Weight(),
	}
	for i := range refusals {
		r.Refusals = append(r.Refusals, metrics.Refusal{Reason: refusals[i].name, Count: s.stats.refused[i].Load()})
	}
	r.Monitors, r.MonitorDropped, r.SlowCommands = int64(s.monitors.count.Load()), s.monitors.dropped.Load(), s.slowlog.count()
	r.Commands, r.Received, r.Sent = s.recorder.Read()
	r.Policies, r.PolicyCount = s.policyCounts()
	r.MaxMemory, r.Forced = s.maxMemory(), s.keys.Forced()
	quotas := map[string]bool{}
	s.keys.QuotaCounts(func(q engine.Quota, keys int64) {
		if name := metrics.Label(q.Name); !quotas[name] && len(r.Quotas) < metrics.MaxQuotas {
			quotas[name] = true
			r.Quotas = append(r.Quotas, metrics.Quota{Name: name, Keys: keys})
		}
	})
	r.TopDenied = s.topDenied()
	r.Loops, r.LoopLag = s.lag.read(s.clock.Now())
	if s.keeper != nil {
		st := s.keeper.Status()
		r.Keeper = &metrics.Keeper{
			OK: st.Err == nil, Saving: st.Saving, LastSave: st.LastSave, LastSaveOK: st.LastSaveErr == nil,
			SnapshotBytes: st.SnapshotBytes, SnapshotKeys: st.SnapshotKeys, JournalBytes: st.JournalBytes, JournalWritten: st.Journaled,
			FlushedUntil: st.FlushedUntil,
		}
	}
	if s.cluster != nil {
		st := s.cluster.Status()
		r.Cluster = &st
	}
	return r
}

// Why a server is not ready.
var (
	errStarting = errors.New("starting: clients cannot connect yet")
	errDraining = errors.New("draining: the server is shutting down")
	errNoLeader = errors.New("no leader: the cluster has none that this node knows of")
)

// Ready says why the server cannot answer requests, nil if it can: it accepts connections, is not shutting down and, in a
// cluster, knows a leader.
func (s *Server) Ready() error {
	switch {
	case s.ending.Load():
		return errDraining
	case !s.serving.Load():
		return errStarting
	case s.cluster != nil:
		if st := s.cluster.Status(); !st.HasLeader() {
			return errNoLeader
		}
	}
	return nil
}

// policyCounts is what the first policies by name decided, and of the others together.
func (s *Server) policyCounts() (policies []metrics.Policy, count int64) {
	s.keys.PolicyCounts(func(p engine.Policy) {
		name := metrics.Label(p.Name)
		if len(policies) > 0 && count >= metrics.MaxPolicies {
			name = metrics.OtherPolicies
		}
		at := len(policies) - 1
		for at >= 0 && policies[at].Name != name { // shortened, two names can be the same
			at--
		}
		if at < 0 {
			policies, at = append(policies, metrics.Policy{Name: name}), len(policies)
		}
		policies[at].Granted += p.Granted
		policies[at].Denied += p.Denied
		policies[at].ShadowDenied += p.ShadowDenied
		count++
	})
	return policies, count
}

// topDenied is the keys denied most, as labels: as hashes also if clients need a password to learn about keys and scrapes
// none.
func (s *Server) topDenied() (denied []metrics.Denied) {
	entries, _ := s.TopDenied(metrics.MaxTop)
	known := map[string]int{}
	for _, e := range entries {
		if s.NeedsPassword() && s.Config().AdminToken == "" && s.Config().TopKeys == "plain" {
			e.Key = []byte(s.HashKey(e.Key))
		}
		name := metrics.Label(string(e.Key))
		at, is := known[name]
		if !is {
			at = len(denied)
			known[name] = at
			denied = append(denied, metrics.Denied{Key: name})
		}
		denied[at].Count += e.Count
		denied[at].Error += e.Error
	}
	return denied
}

// TopDenied is the n keys denied most in the last minutes, by their hashes if that is set, and how many denials there
// were of all keys.
func (s *Server) TopDenied(n int) (entries []top.Entry, total int64) {
	entries, total = s.denied.Top(n, s.clock.Now())
	if s.Config().TopKeys == "hashed" {
		for i := range entries {
			entries[i].Key = []byte(s.HashKey(entries[i].Key))
			entries[i].Size = len(entries[i].Key)
		}
	}
	return entries, total
}

// NeedsPassword reports whether a client that has not logged in may do nothing.
func (s *Server) NeedsPassword() bool { return !s.users.Default().NeedsNoPassword() }

// HashKey is what stands for a key where --top-keys is hashed: the same for the same key, until the server is restarted.
func (s *Server) HashKey(key []byte) string {
	h := sha256.New()
	h.Write([]byte(s.keySalt))
	h.Write(key)
	return "hash:" + hex.EncodeToString(h.Sum(nil)[:8])
}
