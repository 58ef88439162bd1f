package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stintdb/stint/engine/slot"
)

// Every group is asked for two keys at each node that is not killed: one far below its limit, and one whose limit is
// reached after the kill.
const (
	probeGroups    = 12
	probePerSecond = 40 // of each connection; each grant is an entry of the log, so all of them take a part of the machine only
	probeLimit     = 50 // of the key whose limit is reached

	killWarmUp = 500 * time.Millisecond
	killBefore = time.Second
	killWatch  = 2 * time.Second
)

// The keys by id, and the metrics of groups: one value for each kill and group, or each group whose leader was handed
// over.
const (
	openKey = iota
	exactKey
	probeKeys

	waitedBefore = "ms until a grant, before the kill"
	waitedOther  = "ms until a grant, keys led elsewhere"
	waitedOwn    = "ms until a grant, keys of the killed node"
	waitedHanded = "ms until a grant, keys whose leader was handed over"
	handedShare  = "part of the groups handed over at a time"
	killFigures  = "12 groups" // Key.Series
)

// A probe is the connections to all groups, and their answers. A wait is the time from the first request without a
// grant until the next grant.
type probe struct {
	tags []string // one in each group
	name string   // of the keys

	mu       sync.Mutex
	since    map[string]waiting // by connection
	longest  []time.Duration    // by group, since the last look
	admitted []int              // of exactKey, by group
}

// waiting is when a connection sent the first request that has not been granted.
type waiting struct {
	group int
	since time.Time
}

func newProbe(name string) *probe {
	p := &probe{name: name, tags: make([]string, probeGroups), since: map[string]waiting{}, longest: make([]time.Duration, probeGroups), admitted: make([]int, probeGroups)}
	for found, i := 0, 0; found < probeGroups; i++ {
		tag := fmt.Sprint("{", i, "}")
		if at := slot.GroupOf(slot.Of([]byte(tag)), probeGroups) - 1; p.tags[at] == "" {
			p.tags[at] = tag
			found++
		}
	}
	return p
}

// connector has one connection for each group.
func (p *probe) connector(address string) connector {
	return func(ctx context.Context, number int) (sender, error) {
		group := number % probeGroups
		command := func(id int) []string {
			if id == exactKey {
				return []string{"TB.ACQUIRE", p.name + "-exact" + p.tags[group], fmt.Sprint(probeLimit), "1/d"}
			}
			return []string{"TB.ACQUIRE", p.name + "-open" + p.tags[group], "1000000", "1000000/d"}
		}
		send, err := respSenders(command, false)(address)(ctx, number)
		at := fmt.Sprint(address, " ", number)
		return func(ids []int, to *tally) error {
			p.sent(at, group, ids[0])
			before := to.granted
			err := send(ids, to)
			p.answered(at, group, ids[0], to.granted-before)
			return err
		}, err
	}
}

func (p *probe) sent(connection string, group, id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waits := p.since[connection]; id == openKey && !waits {
		p.since[connection] = waiting{group, time.Now()}
	}
}

func (p *probe) answered(connection string, group, id, granted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case id == exactKey:
		p.admitted[group] += granted
	case granted > 0:
		p.longest[group] = max(p.longest[group], time.Since(p.since[connection].since))
		delete(p.since, connection)
	}
}

// look returns the longest wait of each group since the last look, those that have not ended included.
func (p *probe) look() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.longest
	p.longest = make([]time.Duration, probeGroups)
	for _, w := range p.since {
		seen[w.group] = max(seen[w.group], time.Since(w.since))
	}
	return seen
}

// beyondLimits is how many requests were granted beyond the limits.
func (p *probe) beyondLimits() (n int) {
	for _, granted := range p.admitted {
		n += max(0, granted-probeLimit)
	}
	return n
}

// run asks at some nodes, while watch looks.
func (p *probe) run(ctx context.Context, at []string, d time.Duration, watch func() error) error {
	watched := make(chan error, 1)
	go func() { watched <- watch() }()
	perSecond := float64(probePerSecond * probeGroups * len(at))
	s, err := pace{probeGroups * len(at), 1, probeKeys, perSecond, d}.at(ctx, &Instance{}, at, p.connector)
	if err == nil && s.Granted == 0 {
		err = fmt.Errorf("nothing is granted: %w", s.FirstError)
	}
	return errors.Join(err, <-watched)
}

func killsOf(e Env) int {
	if e.Quick {
		return 6
	}
	return 30
}

// measureKills kills one node after the other, each of which is started again, and lastly watches leaders being handed
// over to the last one.
func measureKills(ctx context.Context, e Env, f Figures) error {
	inst, err := startNodes(e.binary, nodeSetup{options: []string{"--groups", fmt.Sprint(probeGroups)}})(ctx, "stint-groups-kill", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if _, _, err := awaitSpread(ctx, inst, probeGroups, 1); err != nil {
		return diagnose(inst, err)
	}
	e.Rounds = killsOf(e)
	if err := e.rounds(1, "a node of three with 12 groups killed", func(round int) error {
		if err := killOne(ctx, inst, round, f); err != nil {
			return err
		}
		_, _, err := awaitSpread(ctx, inst, probeGroups, probeGroups)
		return err
	}); err != nil {
		return err
	}
	return watchHandedOver(ctx, inst, f)
}

// killOne kills a node under load at the others.
func killOne(ctx context.Context, inst *Instance, round int, f Figures) error {
	victim := round % nodes
	var survivors []string
	for i, address := range inst.Nodes {
		if i != victim {
			survivors = append(survivors, address)
		}
	}
	p := newProbe(fmt.Sprint("kill-", round))
	err := p.run(ctx, survivors, killWarmUp+killBefore+killWatch, func() error {
		if err := pause(ctx, killWarmUp); err != nil {
			return err
		}
		p.look()
		if err := pause(ctx, killBefore); err != nil {
			return err
		}
		led, err := leadsOf(inst, probeGroups)
		if err != nil {
			return err
		}
		f.addWaits(waitedBefore, p.look())
		inst.processes[victim].kill()
		if err := pause(ctx, killWatch-200*time.Millisecond); err != nil {
			return err
		}
		waited := p.look()
		lead, err := leadsOf(inst, probeGroups)
		for group, by := range led {
			metric := waitedOther
			if by == victim {
				metric = waitedOwn
			} else if lead != nil && lead[group] != by {
				metric = waitedHanded
			}
			f.addWaits(metric, waited[group:group+1])
		}
		return err
	})
	if err != nil {
		return err
	}
	f.add(killFigures, "", beyond, float64(p.beyondLimits()))
	if err := inst.startNode(ctx, victim); err != nil {
		return err
	}
	return awaitHealthy(ctx, inst.Nodes[victim])
}

// addWaits adds the waits of groups.
func (f Figures) addWaits(metric string, waited []time.Duration) {
	for _, w := range waited {
		f.add(killFigures, "", metric, w.Seconds()*1000)
	}
}

// watchHandedOver watches while leaders are handed to the node that was started last and leads none.
func watchHandedOver(ctx context.Context, inst *Instance, f Figures) error {
	const step = 500 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newProbe("handed")
	led, err := leadsOf(inst, probeGroups)
	if err != nil {
		return err
	}
	err = p.run(ctx, inst.Nodes, spreadWithin, func() error {
		defer cancel() // of the load
		if err := pause(ctx, killWarmUp); err != nil {
			return err
		}
		for p.look(); ctx.Err() == nil; {
			if err := pause(ctx, step); err != nil {
				return err
			}
			waited := p.look()
			lead, err := leadsOf(inst, probeGroups)
			if err != nil {
				return err
			}
			moved := 0
			for group, by := range lead {
				if by >= 0 && by != led[group] {
					moved++
					f.addWaits(waitedHanded, waited[group:group+1])
				}
			}
			if moved > 0 {
				f.add(killFigures, "", handedShare, float64(moved)/probeGroups)
			}
			if spread, all := spreadOf(inst, lead); all && spread <= 1 {
				return nil
			}
			led = lead
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

func killTables(_ Env, f Figures) []Table {
	t := Table{Title: "Three nodes with 12 groups, a node killed", Words: 1, Header: []string{"", "values", "median", "p99", "most"},
		Note: fmt.Sprintf("Default heartbeats. Of each kill and group: the longest time from a request at a node that survives until the next grant, ms; each connection has %d a second, one at a time. "+
			"A leader is handed over to a node that leads fewer groups. %.0f requests were granted beyond the limits of 50, each reached after the kill.", probePerSecond, sum(append(f[Key{killFigures, "", beyond}], 0)))}
	for _, metric := range []string{waitedBefore, waitedOther, waitedOwn, waitedHanded} {
		if k := (Key{killFigures, "", metric}); len(f[k]) > 0 {
			t.Rows = append(t.Rows, []string{metric, formatCount(number(f[k])), formatFigure(median(f[k])), formatFigure(percentile99(f[k])), formatFigure(most(f[k]))})
		}
	}
	return []Table{t}
}

func killTargets(Env) []Target {
	target := func(name, unit, metric string, bound float64, of func([]float64) float64) Target {
		return Target{Name: "three nodes with 12 groups, " + name, Unit: unit, AtMost: true, Bound: bound, Figure: Key{killFigures, "", metric}, of: of}
	}
	return []Target{
		target("a node killed, silence of keys led elsewhere, p99", "ms", waitedOther, 20, percentile99),
		target("a node killed, silence of its own keys, p99", "ms", waitedOwn, 500, percentile99),
		target("a leader handed over, silence of its keys, most", "ms", waitedHanded, 30, most),
		target("a leader handed over, part of the keys", "", handedShare, 0.0834, most),
		target("a node killed, granted beyond the limits", "", beyond, 0, sum),
	}
}
