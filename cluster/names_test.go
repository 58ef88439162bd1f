package cluster

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// dns is a resolver that the test changes. Its hosts are names of nodes, each of which is reached at "ip-" and the name
// too.
type dns struct {
	mu    sync.Mutex
	hosts []string
	asked int
}

func (d *dns) set(hosts ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosts = hosts
}

func (d *dns) ask() (hosts []string, asked int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return slices.Clone(d.hosts), d.asked
}

func (d *dns) LookupHost(_ context.Context, host string) (all []string, err error) {
	hosts, _ := d.ask()
	if host != "stint" || len(hosts) == 0 {
		return nil, errors.New("no such host")
	}
	for _, h := range hosts {
		all = append(all, "ip-"+h)
	}
	return all, nil
}

func (d *dns) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	hosts, _ := d.ask()
	if service+proto != "" || name != "_stint._tcp.test" {
		return "", nil, errors.New("no such service")
	}
	var all []*net.SRV
	for _, h := range hosts {
		all = append(all, &net.SRV{Target: "ip-" + h + ".", Port: 7379})
	}
	return name, all, nil
}

// A resolvedNet reaches nodes at the addresses that dns has as well.
type resolvedNet struct{ transport.Network }

func (n resolvedNet) Dial(ctx context.Context, address string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = strings.TrimPrefix(host, "ip-")
	}
	return n.Network.Dial(ctx, address)
}

func startByName(t *testing.T, s *simulated, node, peers string, d *dns) *Node {
	t.Helper()
	if s.disks[node] == nil {
		s.disks[node] = newMemDisk(0)
	}
	o := s.options(node, node, s.disks[node])
	o.Peers, o.Resolver, o.Network = []string{peers}, d, resolvedNet{o.Network}
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.nodes[node] = n
	return n
}

// Nodes that only know one name of DNS form a cluster. After all of them have failed they find each other again, and a
// new node joins, without questions to DNS while there is a leader.
func TestClusterOfOneName(t *testing.T) {
	for _, peers := range []string{"dns:stint:7379", "srv:_stint._tcp.test"} {
		t.Run(peers[:3], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t)
				log := s.listenToLog()
				s.names, s.expect = []string{"a", "b", "c", "d"}, 3
				defer s.stop()
				d := &dns{}
				for _, node := range []string{"a", "b", "c"} {
					startByName(t, s, node, peers, d)
				}
				time.Sleep(10 * time.Second)
				d.set("a", "b")
				time.Sleep(10 * time.Second)
				for _, n := range s.nodes {
					if state := n.Group().Status().State; state != clusterstatus.Starting {
						t.Errorf("%s is %s, but DNS has two of three nodes", n.id, state)
					}
				}
				if !log.Has("not all nodes of the names in --cluster-peers were found yet") {
					t.Errorf("nothing is said about DNS:\n%s", log)
				}
				d.set("a", "b", "c", "gone")
				if members := s.leader().Group().Members(); len(members) != 3 {
					t.Errorf("the members are %v", members)
				}
				time.Sleep(5 * time.Second)
				_, before := d.ask()
				time.Sleep(time.Minute)
				if _, after := d.ask(); after != before+1 {
					t.Errorf("DNS was asked %d times within a minute with a leader", after-before-1)
				}

				for _, node := range []string{"a", "b", "c"} {
					s.kill(node)
				}
				for _, node := range []string{"a", "b", "c", "d"} {
					startByName(t, s, node, peers, d)
				}
				leader := s.leader()
				time.Sleep(10 * time.Second)
				if members := leader.Group().Members(); len(members) != 4 {
					t.Errorf("after a restart with a new node the members are %v\n%s", members, log)
				}
			})
		})
	}
}

// Two clusters could form if the name had twice as many nodes as a cluster is formed of.
func TestNameOfTooManyNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		log := s.listenToLog()
		s.names, s.expect = []string{"a", "b", "c", "d"}, 2
		defer s.stop()
		d := &dns{}
		d.set("a", "b", "c", "d")
		for _, node := range d.hosts {
			startByName(t, s, node, "dns:stint:7379", d)
		}
		time.Sleep(10 * time.Second)
		for _, n := range s.nodes {
			if state := n.Group().Status().State; state != clusterstatus.Starting {
				t.Errorf("%s is %s", n.id, state)
			}
		}
		if !log.Has("is not a majority of the nodes in --cluster-peers") {
			t.Errorf("the reason is not in the log:\n%s", log)
		}
	})
}
