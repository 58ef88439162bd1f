package transport

import (
	"context"
	"io"
	stdnet "net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testnet"
)

// hookedNetwork calls a function while a connection is being dialed.
type hookedNetwork struct {
	Network
	dialing func()
}

func (h hookedNetwork) Dial(ctx context.Context, address string) (stdnet.Conn, error) {
	h.dialing()
	return h.Network.Dial(ctx, address)
}

// A node that is isolated while a connection is being made does not keep that connection. A leader that kept one for
// Raft's heartbeats would stay the leader, without deciding, for as long as it is isolated.
func TestIsolateClosesConnectionsBeingMade(t *testing.T) {
	for _, side := range []string{"dialing", "accepting"} {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net, log := testnet.New(), &testlog.Log{}
				node := func(id string) *Peers {
					p := New(Config{Network: net.Of(id), Address: id, Log: log.Logger(), Known: func(string) raft.ServerID {
						return ""
					},
						Leads: func() bool { return false }, Hello: func(to raft.ServerID) Hello {
							return Hello{From: raft.ServerID(id), To: to}
						},
						Serve: map[Purpose]func(stdnet.Conn, Hello){ForCalls: func(conn stdnet.Conn, _ Hello) {
							_, _ = io.Copy(io.Discard, conn)
						}}})
					if err := p.Listen(id); err != nil {
						t.Fatal(err)
					}
					return p
				}
				a, b := node("a"), node("b")
				isolated := a
				if side == "dialing" {
					a.Network = hookedNetwork{a.Network, func() { a.Isolate(true) }}
				} else {
					isolated = b
					b.OnConnect = func(raft.ServerID) { b.Isolate(true) }
				}
				for _, p := range []*Peers{a, b} {
					p.Start()
					defer p.Halt()
				}
				conn, _, err := a.Dial(t.Context(), "b", ForCalls)
				if err == nil {
					defer conn.Close()
				}
				time.Sleep(time.Second)
				synctest.Wait()
				isolated.mu.Lock()
				defer isolated.mu.Unlock()
				for _, purpose := range isolated.conns {
					if purpose == ForCalls {
						t.Error("the isolated node has kept a connection for calls")
					}
				}
			})
		})
	}
}
