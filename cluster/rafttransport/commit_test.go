package rafttransport

import (
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testnet"
)

// The commit index of a message is at most the last entry up to which the message proves the leader's log, whichever of
// the two nodes lowers it.
func TestCommitIndexWithinTheMessage(t *testing.T) {
	two := []*raft.Log{{Index: 8, Term: 3, Data: make([]byte, maxEntriesBytes)}, {Index: 9, Term: 3}}
	for _, c := range []struct {
		entries   []*raft.Log
		has, want uint64 // commit indexes
	}{{nil, 6, 6}, {nil, 7, 7}, {nil, 8, 7}, {two[:1], 8, 8}, {two[:1], 9, 8},
		{two, 9, 8}} { // the second of two does not fit
		message := func() *raft.AppendEntriesRequest {
			return &raft.AppendEntriesRequest{RPCHeader: ofA, Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: c.has,
				Entries: c.entries}
		}
		synctest.Test(t, func(t *testing.T) {
			network := testnet.New()
			a, b := start(t, network, "a"), start(t, network, "b")
			defer a.end()
			defer b.end()
			sent, resp := message(), &raft.AppendEntriesResponse{}
			for name, send := range map[string]func() error{
				"sent": func() error { return a.AppendEntries("b#1", "b", sent, resp) },
				"by one that does not": func() error {
					m := message()
					m.Entries = Fitting(m.Entries, maxEntriesBytes)
					l, err := a.links.take("b")
					if err == nil {
						_, err = l.ask(a.links.timeout, a.head(kindAppendEntries, "b#1"), m, resp, nil)
						_ = l.conn.Close()
					}
					return err
				},
			} {
				asked := b.answer(&raft.AppendEntriesResponse{Term: 3}, nil)
				if err := send(); err != nil {
					t.Fatal(err)
				}
				if got := (<-asked).Command.(*raft.AppendEntriesRequest).LeaderCommitIndex; got != c.want {
					t.Errorf("%d entries, commit index %d, %s: %d arrives, want %d", len(c.entries), c.has, name, got, c.want)
				}
			}
			if sent.LeaderCommitIndex != c.want { // the other node may be of an older version
				t.Errorf("%d entries, commit index %d: %d is sent, want %d", len(c.entries), c.has, sent.LeaderCommitIndex, c.want)
			}
		})
	}
}
