package cluster

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// fsm is what every node carries the log out on: the store, the cluster's id and time, and what is known of its members.
// Raft calls Apply, Snapshot and Restore one at a time, so that everything but the atomics belongs to that goroutine.
type fsm struct {
	store *engine.Store
	clock *clock
	own   func(number uint64) *entry // the calls behind an entry of this process
	ownID uint64
	log   *slog.Logger
	fail  func(error) // told once when the log cannot be carried out any further

	now     atomic.Int64 // the cluster's time at the last entry applied; only Apply moves it
	known   atomic.Pointer[register]
	loading atomic.Bool // a snapshot is replacing the state
	broken  error
	counts  *counts

	reader  engine.OpReader
	ops     []engine.Op
	results []engine.Result
	done    []*call
}

// register is what the log says of the cluster itself. It is replaced, never changed.
type register struct {
	ClusterID string                   `json:"cluster"`
	Members   map[raft.ServerID]member `json:"members"`
	Imported  bool                     `json:"imported,omitempty"` // its state began with that of a server alone
}

// member is what nodes tell of themselves when they join.
type member struct {
	Node   string `json:"node"`   // the name it was started under
	Client string `json:"client"` // where clients reach it
	Spare  bool   `json:"spare"`  // it has the state but no vote, by wish
}

// with returns a copy with one member changed, or removed if m is nil.
func (r *register) with(id raft.ServerID, m *member) *register {
	next := &register{ClusterID: r.ClusterID, Imported: r.Imported, Members: make(map[raft.ServerID]member, len(r.Members)+1)}
	for k, v := range r.Members {
		next.Members[k] = v
	}
	delete(next.Members, id)
	if m != nil {
		next.Members[id] = *m
	}
	return next
}

// foundBody and memberBody are the JSON of the entries that are no decisions.
type (
	foundBody struct {
		ClusterID string `json:"cluster"`
	}
	memberBody struct {
		ID     raft.ServerID `json:"id"`
		Member *member       `json:"member"` // nil: it has left
	}
)

// Apply implements raft.FSM.
func (f *fsm) Apply(l *raft.Log) any {
	if f.broken != nil {
		return nil
	}
	e, err := readEntry(l.Data)
	if err == nil {
		err = f.apply(e)
	}
	if err != nil {
		f.broken = fmt.Errorf("entry %d of the log: %w", l.Index, err)
		f.fail(f.broken)
	}
	return nil
}

func (f *fsm) apply(e entryView) error {
	now := max(f.now.Load(), e.now)
	f.clock.observe(now)
	defer f.now.Store(now) // once its effects can be seen
	f.counts.entries.Add(1)
	switch e.kind {
	case kindDecisions:
		return f.decide(now, e)
	case kindFound:
		var body foundBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		if f.known.Load().ClusterID == "" {
			next := *f.known.Load()
			next.ClusterID = body.ClusterID
			f.known.Store(&next)
		}
	case kindMember:
		var body memberBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		f.known.Store(f.known.Load().with(body.ID, body.Member))
	}
	return nil
}

// decide carries out the groups of an entry. Where the calls behind them are this process's own and still wait, results
// go where they are waited for; all of the entry is carried out before the first of them goes on.
func (f *fsm) decide(now int64, e entryView) error {
	var own *entry
	if e.proposer == f.ownID {
		own = f.own(e.number)
	}
	f.done = f.done[:0]
	body, decisions := e.body, 0
	for i := 0; len(body) > 0; i++ {
		g, rest, err := nextGroup(body)
		if err != nil {
			return err
		}
		if f.ops, err = readGroup(&f.reader, g, f.ops[:0]); err != nil {
			return err
		}
		body = rest
		decisions += g.count
		if own == nil {
			f.carryOut(now, g.atomic, f.scratch(g.count))
			continue
		}
		c := own.calls[i]
		won, _ := c.claim()
		switch {
		case !won:
			f.carryOut(now, g.atomic, f.scratch(g.count))
			continue
		case c.which == nil:
			f.carryOut(now, g.atomic, c.batch.Results)
		default:
			results := f.scratch(g.count)
			f.carryOut(now, g.atomic, results)
			for j, at := range c.which { // swapped, as results keep room for their parts
				c.batch.Results[at], results[j] = results[j], c.batch.Results[at]
			}
		}
		f.done = append(f.done, c)
	}
	f.counts.decisions.Add(int64(decisions))
	f.now.Store(now)
	for i, c := range f.done {
		c.batch.Done()
		f.done[i] = nil
	}
	return nil
}

func (f *fsm) carryOut(now int64, atomic bool, results []engine.Result) {
	if atomic && len(f.ops) > 1 {
		f.store.ApplyAtomic(now, f.ops, results)
		return
	}
	f.store.Apply(now, f.ops, results)
}

// scratch is room for results that nobody waits for.
func (f *fsm) scratch(n int) []engine.Result {
	if len(f.results) < n {
		f.results = make([]engine.Result, max(n, 64))
	}
	return f.results[:n]
}
