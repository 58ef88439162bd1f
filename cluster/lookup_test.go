package cluster

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/testsize"
)

// namedNet is a network whose addresses are names, which a resolver looks up before each connection.
type namedNet struct {
	transport.Network
	lookup func(ctx context.Context, name string) error
}

func (n namedNet) Dial(ctx context.Context, address string) (net.Conn, error) {
	if err := n.lookup(ctx, address); err != nil {
		return nil, err
	}
	return n.Network.Dial(ctx, address)
}

// slowLookup is longer than the time after which nodes ask each other following a silence.
const slowLookup = 100 * time.Millisecond

// resolvers answer late, or not at all about z, a member that is gone.
var resolvers = map[string]func(ctx context.Context, name string) error{
	"unknown name": func(_ context.Context, name string) error {
		if name == "z" {
			return errors.New("no such host")
		}
		return nil
	},
	"silent about a name": func(ctx context.Context, name string) error {
		if name == "z" {
			<-ctx.Done()
		}
		return ctx.Err()
	},
	"slow": func(ctx context.Context, name string) error {
		clock.Sleep(ctx, slowLookup)
		return ctx.Err()
	},
	"slow, and silent about a name": func(ctx context.Context, name string) error {
		if name == "z" {
			<-ctx.Done()
		}
		clock.Sleep(ctx, slowLookup)
		return ctx.Err()
	},
}

// One of four members is gone, and a resolver does not answer about its name, or about all names late. The other three,
// which must all vote, elect a leader as fast as otherwise, apart from the look-ups under way; and none of them waits
// for the name when it ends.
func TestNothingWaitsForAName(t *testing.T) {
	const mostElection, mostEnd = 2 * time.Second, 500 * time.Millisecond // of simulated time
	for name, lookup := range resolvers {
		t.Run(name, func(t *testing.T) {
			for range testsize.Pick(2, 5) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, "a", "b", "c", "z")
					s.lookup = lookup
					defer s.stop()
					s.leader()
					time.Sleep(5 * time.Second)
					s.kill("z")
					time.Sleep(5 * time.Second)
					s.stop()
					for _, n := range []string{"a", "b", "c"} {
						s.start(n)
					}
					wantLeader(t, s, "all have been killed", mostElection)
					time.Sleep(5 * time.Second)
					leader, began := s.leader(), time.Now()
					if err := leader.Group().HandOver(t.Context()); err != nil {
						t.Error(err)
					}
					s.kill(leader.opt.Node)
					if took := time.Since(began); took > mostEnd {
						t.Errorf("the leader's end took %v", took)
					}
					s.start(leader.opt.Node)
					wantLeader(t, s, "the leader has ended", mostElection)
				})
			}
		})
	}
}

func wantLeader(t *testing.T, s *simulated, when string, within time.Duration) {
	t.Helper()
	began := time.Now()
	s.leader()
	if took := time.Since(began); took > within {
		t.Errorf("when %s it takes %v until another leads", when, took)
	}
}
