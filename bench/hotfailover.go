package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The load on one hot key, far below its limit, at the two nodes that survive.
const (
	hotClients   = 32
	hotPerSecond = 20_000
	hotWarmUp    = time.Second
	hotBefore    = 3 * time.Second // watched before the kill, to compare with
	hotAfter     = 3 * time.Second // watched after it; the new leader is there long before
)

// A hotOutcome is the effect of one kill on the clients of other nodes.
type hotOutcome struct {
	before, after  time.Duration // the longest time in which a node granted nothing
	denied, failed int           // failed requests had no answer but an error
}

// A watch records the grants of one node.
type watch struct {
	mu      sync.Mutex
	last    time.Time     // grant, or the begin of the measurement
	longest time.Duration // between two
}

func (w *watch) grant() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.longest, w.last = max(w.longest, now.Sub(w.last)), now
}

// restart returns the longest time without a grant, the present one included, and begins another measurement.
func (w *watch) restart() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	longest := max(w.longest, now.Sub(w.last))
	w.longest, w.last = 0, now
	return longest
}

// The metrics of a kill, beside denied and failed requests.
const (
	silentAfter  = "ms without a grant at a node"
	silentBefore = "the same before the kill"
	hotDenied    = "denied"
	hotFailed    = "without an answer"
)

// measureHotFailover kills the leader under load on a hot key at the other nodes, each time in a new cluster.
func measureHotFailover(ctx context.Context, e Env, f Figures) error {
	return e.rounds(1, "the leader killed under load at the others", func(int) error {
		o, err := hotRound(ctx, e)
		if err != nil {
			return err
		}
		f.addHot(o)
		return nil
	})
}

func (f Figures) addHot(o hotOutcome) {
	f.add(threeNodes, "", silentAfter, o.after.Seconds()*1000)
	f.add(threeNodes, "", silentBefore, o.before.Seconds()*1000)
	f.add(threeNodes, "", hotDenied, float64(o.denied))
	f.add(threeNodes, "", hotFailed, float64(o.failed))
}

func hotFailoverTables(_ Env, f Figures) []Table {
	return []Table{f.table("The leader killed under load on a hot key at the others",
		fmt.Sprintf("%d clients at the two nodes that survive, %d requests a second on one key under its limit.", hotClients, hotPerSecond),
		[]string{"nodes"}, []line{{[]string{"Stint, three nodes"}, threeNodes, ""}},
		summary("kills", silentAfter, formatCount, number),
		summary(silentAfter+": median", silentAfter, formatFigure, median), summary("most", silentAfter, formatFigure, most),
		summary(silentBefore+": median", silentBefore, formatFigure, median), summary("most", silentBefore, formatFigure, most),
		summary(hotDenied, hotDenied, formatCount, sum), summary(hotFailed, hotFailed, formatCount, sum))}
}

// hotRound kills the leader of a new cluster.
func hotRound(ctx context.Context, e Env) (o hotOutcome, err error) {
	started, err := startStintCluster(ctx, e)
	if err != nil {
		return o, err
	}
	defer started.Stop()
	c := started.(stintCluster)
	leader, err := leaderOf(ctx, c.Nodes)
	if err != nil {
		return o, err
	}
	survivors := slices.DeleteFunc(slices.Clone(c.Nodes), func(node string) bool { return node == leader })
	watches := map[string]*watch{}
	for _, address := range survivors {
		watches[address] = &watch{}
	}
	longest := func() (all time.Duration) {
		for _, w := range watches {
			all = max(all, w.restart())
		}
		return all
	}
	killed := make(chan error, 1)
	go func() {
		killed <- func() error {
			if err := pause(ctx, hotWarmUp); err != nil { // until the nodes hold tokens
				return err
			}
			longest()
			if err := pause(ctx, hotBefore); err != nil {
				return err
			}
			o.before = longest()
			c.processes[slices.Index(c.Nodes, leader)].kill()
			err := pause(ctx, hotAfter)
			o.after = longest()
			return err
		}()
	}()
	load := pace{hotClients, 1, 1, hotPerSecond, hotWarmUp + hotBefore + hotAfter + time.Second}
	s, err := load.at(ctx, &Instance{}, survivors, func(address string) connector { return watches[address].watched(address) })
	o.denied, o.failed = s.Requests-s.Granted-s.Errors, s.Errors
	return o, errors.Join(err, <-killed)
}

// watched sends the load, and notes every grant.
func (w *watch) watched(address string) connector {
	connect := respSenders(keyed("TB.ACQUIRE", "hot", "100000", "100000/s"), false)(address)
	return func(ctx context.Context, number int) (sender, error) {
		send, err := connect(ctx, number)
		return func(ids []int, to *tally) error {
			before := to.granted
			err := send(ids, to)
			if to.granted > before {
				w.grant()
			}
			return err
		}, err
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
