package server

import (
	"errors"
	"runtime"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/policy"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/metrics"
)

// MetricsSnapshot is everything metrics show, at this instant.
func (s *Server) MetricsSnapshot() *metrics.Snapshot {
	r := &metrics.Snapshot{
		Version: s.info.Version, GoVersion: runtime.Version(), Uptime: s.env.Clock.Uptime(), Ready: s.Ready() == nil,
		Ahead:       s.env.Clock.Ahead(),
		Connections: s.Connections(), Blocked: int64(s.env.WaitQueue.Len()),
		ConnectionsAccepted: s.env.Stats.Connections.Load(), ConnectionsRejected: s.env.Stats.Rejected.Load(),
		SlowReaders: s.env.Stats.SlowReaders.Load(),
		Keys:        int64(s.keys.Len()), KeyBytes: s.keys.Bytes(), MaxBytes: s.memory.MaxKeyBytes(),
		Expired:   s.env.Stats.Expired.Load(),
		TopWeight: s.env.TopKeys.Weight(),
	}
	for number := range s.keys.LastDatabase() + 1 {
		r.DatabaseKeys = append(r.DatabaseKeys, int64(s.keys.DatabaseLen(uint8(number))))
	}
	channels, subscriptions := s.env.Channels.Counts()
	r.Channels, r.Subscriptions = int64(channels), int64(subscriptions)
	s.env.Stats.Rejections(func(name string, count, _ int64) {
		r.Rejections = append(r.Rejections, metrics.Rejection{Reason: name, Count: count})
	})
	r.Monitors, r.MonitorDropped, r.SlowCommands = int64(s.env.Monitors.Count()), s.env.Monitors.Dropped(),
		s.env.SlowLog.Count()
	r.Commands, r.Received, r.Sent = s.env.Stats.Recorder.Read()
	r.Policies, r.PolicyCount = policyCounts(s.keys)
	r.LentKeys, r.Warnings = s.keys.LentKeys(), s.warnings.Counts()
	r.MaxMemory, r.Forced = s.memory.MaxMemory(), s.keys.NewKeyCounts()
	quotas := map[string]bool{}
	s.keys.QuotaCounts(func(q admission.Quota, keys int64) {
		if name := metrics.Label(q.Name); !quotas[name] && len(r.Quotas) < metrics.MaxQuotas {
			quotas[name] = true
			r.Quotas = append(r.Quotas, metrics.QuotaUsage{Name: name, Keys: keys})
		}
	})
	r.DenialsWritten, r.DenialsLeftOut = s.env.Denials.Counts()
	r.TopDenied = s.topDeniedLabels()
	r.Loops, r.LoopLag = s.lag.Read(s.env.Clock.Now())
	if s.persistence != nil {
		st := s.persistence.Status()
		r.Persistence = &st
	}
	if s.env.Cluster != nil {
		st := s.env.Cluster.Status()
		r.Cluster, r.Ahead = &st, st.ClockAhead
	}
	if s.info.Upstream != nil {
		st := s.info.Upstream.Status()
		r.Upstream = &st
	}
	if !s.serving.Load() {
		return r // the services begin
	}
	for _, service := range s.services {
		if m, is := service.(gateway.Measured); is {
			m.Measure(r)
		}
	}
	return r
}

// Why a server is not ready.
var (
	errStarting   = errors.New("starting: clients cannot connect yet")
	errDraining   = errors.New("draining: the server is shutting down")
	errNoLeader   = errors.New("no leader: this node knows no leader of the cluster")
	errImporting  = errors.New("waiting for --cluster-import: the cluster does not have the whole state yet; if no node was started with that file, start one")
	errNotMember  = errors.New("not a member: RAFT REMOVE has removed this node, or it has not joined yet; its log says why it cannot join")
	errNotHealthy = errors.New("not healthy: this node has not caught up with the leader, or it leads and cannot commit entries in time")
)

// Ready says why the server cannot answer requests, nil if it can: it accepts connections, is not shutting down and, in
// a cluster, knows a leader and is healthy; and its services are ready.
func (s *Server) Ready() error {
	switch {
	case s.shuttingDown.Load():
		return errDraining
	case !s.serving.Load():
		return errStarting
	case s.env.Cluster != nil:
		switch st := s.env.Cluster.Status(); {
		case !st.HasLeader():
			return errNoLeader
		case st.AwaitsImport:
			return errImporting
		case !st.Healthy && !st.IsMember():
			return errNotMember
		case !st.Healthy:
			return errNotHealthy
		}
	}
	for _, service := range s.services {
		if r, can := service.(gateway.Readier); can {
			if err := r.Ready(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Warning says which groups of keys have no leader, since when, and what to do; "" if all have one. A server is ready
// nevertheless, because it answers requests for all other keys.
func Warning(s *Server) string {
	if s.env.Cluster == nil {
		return ""
	}
	return s.env.Cluster.Status().LeaderlessText
}

// policyCounts are the decisions of the first policies by name, and the sum of the others.
func policyCounts(keys localstore.Counts) (policies []metrics.PolicyCounts, count int64) {
	keys.PolicyCounts(func(p policy.Policy) {
		name := metrics.Label(p.Name)
		if len(policies) > 0 && count >= metrics.MaxPolicies {
			name = metrics.OtherPolicies
		}
		at := len(policies) - 1
		for at >= 0 && policies[at].Name != name { // shortened, two names can be the same
			at--
		}
		if at < 0 {
			policies, at = append(policies, metrics.PolicyCounts{Name: name}), len(policies)
		}
		policies[at].Granted += p.Granted
		policies[at].Denied += p.Denied
		policies[at].ShadowDenied += p.ShadowDenied
		count++
	})
	return policies, count
}

// topDeniedLabels returns the keys denied most, as labels. They are hashes also if clients need a password to learn
// about keys, and scrapes need none.
func (s *Server) topDeniedLabels() (denied []metrics.DeniedKey) {
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
			denied = append(denied, metrics.DeniedKey{Key: name})
		}
		denied[at].Count += e.Count
		denied[at].Error += e.Error
	}
	return denied
}

// Connections is the number of open connections of clients.
func (s *Server) Connections() int64 { return int64(s.env.Registry.Count()) }

// Decisions are the decisions so far.
func (s *Server) Decisions() metrics.Decisions { return s.env.Stats.Recorder.Decisions() }

// NeedsPassword reports whether a client that has not logged in may do nothing.
func (s *Server) NeedsPassword() bool { return !s.env.Users.Default().NeedsNoPassword() }
