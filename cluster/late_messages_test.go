package cluster

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/transport"
)

// lateMessages changes some messages into what Raft would have sent if its goroutine had been delayed between reading
// the end of the log and reading the commit index: a part of the entries, after a while, with a commit index that may
// be far beyond them. It waits where no lock is held, because in a bubble of synctest time stands still while a
// goroutine waits for a lock.
type lateMessages struct {
	transport.Messenger
	group *group.Group

	mu    sync.Mutex
	r     *rand.Rand
	terms map[raft.ServerID]uint64 // of the last message with entries
}

func newLateMessages(seed uint64) func(g *group.Group, m transport.Messenger) transport.Messenger {
	return func(g *group.Group, m transport.Messenger) transport.Messenger {
		return &lateMessages{Messenger: m, group: g, r: rand.New(rand.NewPCG(seed, 7)), terms: map[raft.ServerID]uint64{}}
	}
}

// AppendEntries implements raft.Transport.
func (m *lateMessages) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	if n := len(args.Entries); n > 0 {
		m.mu.Lock()
		isFirst := m.terms[id] != args.Term // the follower may have entries of an earlier leader
		m.terms[id] = args.Term
		isLate, sent, late := m.r.IntN(8) == 0, m.r.IntN(n), time.Duration(m.r.IntN(60))*time.Millisecond
		if isFirst {
			isLate, sent = m.r.IntN(8) > 0, 0
		}
		m.mu.Unlock()
		if isLate {
			time.Sleep(late)
			parts := m.group.Parts()
			onDisk, err := parts.Log.LastIndex()
			commit := min(parts.Raft.CommitIndex(), onDisk)
			if err != nil || parts.Raft.State() != raft.Leader || parts.Raft.CurrentTerm() != args.Term {
				return raft.ErrLeadershipLost
			}
			args.Entries, args.LeaderCommitIndex = args.Entries[:sent], commit
		}
	}
	return m.Messenger.AppendEntries(id, target, args, resp)
}
