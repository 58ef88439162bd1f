package rafttransport

import "github.com/hashicorp/raft"

// capCommit lowers the commit index of a message to the last entry up to which the message proves that the follower has
// the leader's log. Raft's follower applies its own log up to the commit index, but after that entry its log may still
// have entries of an earlier leader that were never committed. Raft's leader sends such an index if an entry is
// committed after it has read the end of its log and before it reads the commit index.
func capCommit(m *raft.AppendEntriesRequest) {
	last := m.PrevLogEntry
	if n := len(m.Entries); n > 0 {
		last = m.Entries[n-1].Index
	}
	m.LeaderCommitIndex = min(m.LeaderCommitIndex, last)
}

// pass passes a question of another node, which may be of any version, on to Raft's main loop. It returns false once
// Raft has ended.
func (t *Transport) pass(rpc raft.RPC) bool {
	if m, is := rpc.Command.(*raft.AppendEntriesRequest); is {
		capCommit(m)
		if inspect := t.inspect.Load(); inspect != nil {
			if err := (*inspect)(m); err != nil {
				rpc.Respond(nil, err)
				return true
			}
		}
	}
	select {
	case t.consumer <- rpc:
		return true
	case <-t.closed:
		return false
	}
}
