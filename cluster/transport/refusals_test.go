package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testnet"
	"github.com/stintdb/stint/internal/unauthenticated"
)

// A node that still calls another node by its incarnation from before it was wiped is refused each time, which is
// logged once a minute.
func TestCallsForAWipedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, log := testnet.New(), &testlog.Log{}
		node := func(address string, id raft.ServerID, expects raft.ServerID) *Peers {
			p := New(Config{Network: net.Of(address), Address: address, Log: log.Logger(), Known: func(string) raft.ServerID {
				return expects
			},
				Hello: func(to raft.ServerID) Hello { return Hello{From: id, To: to, Cluster: "ours"} }})
			if err := p.Listen(address); err != nil {
				t.Fatal(err)
			}
			p.Start()
			return p
		}
		wiped, caller := node("c", "c#1", ""), node("a", "a#0", "c#0")
		defer wiped.Halt()
		defer caller.Halt()
		const every = 20 * time.Millisecond
		for range unauthenticated.RefusalPeriod/every + 1 {
			if conn, _, err := caller.Dial(t.Context(), "c", ForRaft); err == nil {
				_ = conn.Close()
				t.Fatal("not refused")
			}
			time.Sleep(every)
		}
		synctest.Wait()
		const line = "refused a connection on the cluster's port"
		if n := log.Count(line); n != 2 || !log.Has("times=1\n") || !log.Has("times=3000\n") {
			t.Errorf("logged %d times:\n%s", n, log)
		}
	})
}
