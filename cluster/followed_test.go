package cluster

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/testspec"
)

// followedMessages tell the specification what a node of group 0 hears from the others.
type followedMessages struct {
	transport.Messenger
	voters *testspec.Voters
}

// AppendEntries implements raft.Transport.
func (m followedMessages) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	sent := time.Now()
	err := m.Messenger.AppendEntries(id, target, args, resp)
	if err == nil && resp.Success {
		m.voters.Agreed(string(args.ID), string(id), args.Term, sent)
	}
	return err
}

// RequestVote implements raft.Transport.
func (m followedMessages) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	m.voters.Asks(string(args.ID), string(id), args.Term, args.LeadershipTransfer)
	err := m.Messenger.RequestVote(id, target, args, resp)
	if err == nil && resp.Granted {
		m.voters.Votes(string(args.ID), string(id), args.Term)
	}
	return err
}

// followMessages has the specification follow the messages of group 0, and what its leaders grant from memory.
func (s *simulated) followMessages(name string, o *Options) {
	if s.voters.Timeout == 0 { // at the first start, before others read it
		s.voters.Timeout = o.Heartbeat
	}
	o.messenger = func(g *group.Group, m transport.Messenger) transport.Messenger {
		s.firstGroups.Store(name, g)
		m = followedMessages{m, &s.voters}
		if s.messenger != nil {
			m = s.messenger(g, m)
		}
		return m
	}
}

// grantsFromMemory tells the specification that a node of group 0 has granted a request from memory.
func (s *simulated) grantsFromMemory(node string) {
	g, _ := s.firstGroups.Load(node)
	leader, voters := "", []string(nil)
	for _, server := range g.(*group.Group).Parts().Raft.GetConfiguration().Configuration().Servers {
		if raftnode.NodeName(server.ID) == node {
			leader = string(server.ID)
		}
		if server.Suffrage == raft.Voter {
			voters = append(voters, string(server.ID))
		}
	}
	s.voters.Grants(leader, voters)
}
