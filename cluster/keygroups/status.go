package keygroups

import (
	"cmp"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/remote"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// AddStatus adds the groups and their counters to the status of group 0. The status stays healthy if every group that
// has a leader is healthy: no node can be blamed for a group without one.
func (k *Groups) AddStatus(s *clusterstatus.Status) {
	groups := k.All()
	s.Forming, s.Replicas = len(groups) == 0, k.opt.Common.Replicas
	s.Healthy = s.Healthy && !s.Forming
	for i, g := range groups {
		one := clusterstatus.Group{Number: i + 1, FirstSlot: slot.First(i+1, len(groups)),
			LastSlot: slot.First(i+2, len(groups)) - 1}
		if g.remote == nil {
			addReplica(s, &one, g.replica)
		} else {
			k.addRemote(s, &one, g.remote)
		}
		s.Groups = append(s.Groups, one)
		s.Healthy = s.Healthy && (one.Healthy || one.LeaderID == "" && !k.statuses.IsLed(uint32(one.Number)))
	}
	if text := k.leaderless.Load(); text != nil {
		s.LeaderlessText = *text
	}
	k.noteUnhealthy(s.Members, s.Groups)
}

// addReplica describes a group with a replica here, and adds its counters.
func addReplica(s *clusterstatus.Status, to *clusterstatus.Group, g *group.Group) {
	own := g.Status()
	to.LeaderID, to.LastLeaderID, to.Term, to.CommitIndex, to.AppliedIndex, to.LogBytes, to.Healthy = own.LeaderID,
		own.LastLeaderID, own.Term, own.CommitIndex, own.AppliedIndex, own.LogBytes, own.Healthy
	for _, m := range own.Members {
		if !m.Voter {
			to.Nonvoters = append(to.Nonvoters, m.ID)
			continue
		}
		to.Replicas = append(to.Replicas, m.ID)
		if m.Reachable {
			to.Voters++
		}
	}
	add(s, &own)
}

// addRemote describes a group without a replica here, as its leader reports it.
func (k *Groups) addRemote(s *clusterstatus.Status, to *clusterstatus.Group, g *remote.Group) {
	leader, leads := g.LeaderStatus()
	to.LastLeaderID, to.Term, to.CommitIndex, to.AppliedIndex, to.Healthy = raftnode.NodeName(leader.ID), leader.Term,
		leader.Applied, leader.Applied, leads
	if leads {
		to.LeaderID = to.LastLeaderID
	}
	for _, id := range k.first.Cluster().Placement.Of(to.Number) {
		to.Replicas = append(to.Replicas, raftnode.NodeName(id))
		if r, is := k.statuses.OfKeyGroups(placement.Node(id))[uint32(to.Number)]; is && !r.Gone {
			to.Voters++
		}
	}
	for id, votes := range leader.Members {
		if !votes {
			to.Nonvoters = append(to.Nonvoters, raftnode.NodeName(id))
		}
	}
	slices.Sort(to.Nonvoters)
	forwarded, uncertain, noLeader := g.Counts()
	s.Forwarded, s.UncertainOutcomes, s.NoLeaderOutcomes = s.Forwarded+forwarded, s.UncertainOutcomes+uncertain,
		s.NoLeaderOutcomes+noLeader
}

// add adds the counters of another group.
func add(s, other *clusterstatus.Status) {
	s.LogBytes += other.LogBytes
	s.DiskStalled = s.DiskStalled || other.DiskStalled
	s.DiskErr = cmp.Or(s.DiskErr, other.DiskErr)
	s.Entries += other.Entries
	s.Rounds += other.Rounds
	s.LogSyncs += other.LogSyncs
	s.Decisions += other.Decisions
	s.DecidedReadOnly += other.DecidedReadOnly
	s.DecidedByAllowance += other.DecidedByAllowance
	s.Forwarded += other.Forwarded
	s.UncertainOutcomes += other.UncertainOutcomes
	s.NoLeaderOutcomes += other.NoLeaderOutcomes
	s.LeaderChanges += other.LeaderChanges
	s.LocalDecisions += other.LocalDecisions
	s.LentTokens += other.LentTokens
	s.HeldKeys += other.HeldKeys
	s.Lends += other.Lends
	s.VoidedTokens += other.VoidedTokens
	s.CommitLatency.Sum += other.CommitLatency.Sum
	for i := range min(len(s.CommitLatency.Counts), len(other.CommitLatency.Counts)) {
		s.CommitLatency.Counts[i] += other.CommitLatency.Counts[i]
	}
}

// noteUnhealthy adds to each member the numbers of the groups of which it has a replica, if the replica is not healthy
// or the group has no leader.
func (k *Groups) noteUnhealthy(members []clusterstatus.Member, groups []clusterstatus.Group) {
	ids := map[string]raft.ServerID{}
	for _, s := range k.first.Members() {
		ids[raftnode.NodeName(s.ID)] = s.ID
	}
	for i := range members {
		m := &members[i]
		told := k.statuses.OfKeyGroups(ids[m.ID])
		for j := range groups {
			g := &groups[j]
			isUnhealthy := told[uint32(g.Number)].Unhealthy
			if ids[m.ID] == k.id {
				isUnhealthy = k.Replica(uint32(g.Number)) != nil && !g.Healthy
			}
			if g.LeaderID == "" && !k.statuses.IsLed(uint32(g.Number)) {
				isUnhealthy = slices.Contains(g.Replicas, m.ID) || slices.Contains(g.Nonvoters, m.ID)
			}
			if isUnhealthy {
				m.UnhealthyGroups = append(m.UnhealthyGroups, g.Number)
			}
		}
	}
}
