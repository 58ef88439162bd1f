package transport

import (
	"io"
	stdnet "net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testnet"
)

// However many silent sockets are open to the cluster's port, nodes are answered: nodes at other addresses, also over
// slow links, and a node at the same address.
func TestSilentSocketsKeepNobodyApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silent, redial, greetings = 160, 10 * time.Millisecond, 20
		net, log := testnet.New(), &testlog.Log{}
		node := func(address string, id raft.ServerID) *Peers {
			p := New(Config{Network: net.Of(address), Address: address, Log: log.Logger(), Known: func(string) raft.ServerID {
				return ""
			},
				Hello: func(to raft.ServerID) Hello { return Hello{From: id, To: to} }, Serve: map[Purpose]func(stdnet.Conn,
					Hello){ForRPC: func(stdnet.Conn, Hello) {}}})
			if err := p.Listen(address); err != nil {
				t.Fatal(err)
			}
			p.Start()
			return p
		}
		target, member, other, same := node("10.0.0.1:7", "a"), node("10.0.0.2:7", "b"), node("10.0.0.3:7", "c"),
			node("10.6.6.6:7", "d")
		for _, p := range []*Peers{target, member, other, same} {
			defer p.Halt()
		}
		for _, far := range []string{"10.0.0.2:7", "10.0.0.3:7"} {
			net.SetDelay(far, "10.0.0.1:7", 3*redial)
			net.SetDelay("10.0.0.1:7", far, 3*redial)
		}
		if conn, _, err := target.Dial(t.Context(), "10.0.0.2:7", ForRPC); err != nil { // so it is known to be a member
			t.Fatal(err)
		} else {
			conn.Close()
		}
		attack, end := make(chan struct{}), sync.WaitGroup{}
		for range silent {
			end.Go(func() {
				for {
					conn, err := net.Of("10.6.6.6:1").Dial(t.Context(), "10.0.0.1:7")
					if err == nil {
						go func() {
							<-attack
							conn.Close()
						}()
						_, _ = io.Copy(io.Discard, conn)
						conn.Close()
					}
					select {
					case <-attack:
						return
					case <-time.After(redial):
					}
				}
			})
		}
		time.Sleep(time.Second)
		for name, p := range map[string]*Peers{"a member": member, "a node at another address": other,
			"a node at the address of the silent": same} {
			for i := range greetings {
				conn, _, err := p.Dial(t.Context(), "10.0.0.1:7", ForRPC)
				if err != nil && p == same { // all of the silent may connect in the same instant; a node connects again
					conn, _, err = p.Dial(t.Context(), "10.0.0.1:7", ForRPC)
				}
				if err != nil {
					t.Errorf("greeting %d of %s: %v", i, name, err)
					continue
				}
				conn.Close()
			}
		}
		if n := target.fromOthers.Len(); n > maxUnauthenticated {
			t.Errorf("%d strangers are connected", n)
		}
		if n := log.Count("refused a connection"); n > 4 {
			t.Errorf("%d lines were logged:\n%s", n, log)
		}
		close(attack)
		end.Wait()
	})
}
