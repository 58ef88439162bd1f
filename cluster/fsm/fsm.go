// Package fsm is the state machine of a Raft group: the entries of its log and their effect on the store, its
// snapshots, the state of the cluster itself, and the versions of all these formats.
package fsm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/store"
)

// Machine is the state machine that applies the log: the store, the cluster's id and time, and the members' details.
// Raft calls Apply, Snapshot and Restore one at a time, from one goroutine, which owns everything but the atomics.
type Machine struct {
	Config

	Now atomic.Int64 // the cluster's time at the last entry applied; only Apply moves it
	// Applied is the index of the last entry applied, no-ops of Raft aside. Raft's own AppliedIndex moves earlier, when
	// entries are handed to Apply's goroutine.
	Applied      atomic.Uint64
	appliedMoved notifier.Notifier
	Cluster      atomic.Pointer[Cluster]
	Loading      atomic.Bool // a snapshot is replacing the state
	Broken       error
	Entries      atomic.Int64 // applied since the start
	Decisions    atomic.Int64 // operations applied

	reader  opcodec.Reader
	ops     []engine.Op
	results []engine.Result
	joined  []joinedGroup // of ops
	done    []*call.Call
	own     []*call.Call // the calls in an entry of this process, while it is applied
}

// Config connects a state machine with the rest of its group.
type Config struct {
	Store     *store.Store
	Clock     *clock.Clock
	OwnID     uint64                             // of this process, in its entries
	TakeCalls func(number uint64) []*call.Call   // returns the calls in an entry of this process; nil if they have ended
	Fail      func(error)                        // called once, when the log cannot be applied further
	OnCluster func(before, now *Cluster)         // receives each new state of the cluster itself
	OnApplied func([]engine.Op, []engine.Result) // receives operations that were carried out; nil if nobody asks
	Knows     FormatVersion                      // the newest version that this node knows
}

// New returns a state machine of a cluster without members.
func New(c Config) *Machine {
	f := &Machine{Config: c}
	f.Cluster.Store(&Cluster{Members: map[raft.ServerID]Member{}})
	return f
}

// Cluster is the state of the cluster itself in the log. It is replaced, never changed.
type Cluster struct {
	ClusterID string                   `json:"cluster"`
	Members   map[raft.ServerID]Member `json:"members"`
	// Imported says that the state began with the state of a single server, or of a backup.
	Imported  bool                     `json:"imported,omitempty"`
	Formats   FormatVersion            `json:"formats,omitempty"`   // the newest version that may be proposed
	Processes map[raft.ServerID]string `json:"processes,omitempty"` // the process of each member that is running
	Allowance bool                     `json:"share,omitempty"`     // leaders may take tokens in their memory
	Groups    int                      `json:"groups,omitempty"`    // of keys; 0 where this group has all keys
	// ImportName is the name of the import that the cluster begins with; "" for none.
	ImportName string    `json:"import,omitempty"`
	Founders   []Founder `json:"founders,omitempty"` // of the groups of keys, once they may begin
	// Placement is the table of their replicas; nil if every node has a replica of each group.
	Placement *placement.Table `json:"placement,omitempty"`
	// Removed are the last maxRemoved nodes that an operator has removed. None joins until it is added again.
	Removed []raft.ServerID `json:"removed,omitempty"`
}

// AwaitsImport reports whether the cluster does not have the state yet that it begins with. Until then it decides
// nothing. With groups of keys, group 0 is the last to get its part.
func (r *Cluster) AwaitsImport() bool { return r.ImportName != "" && !r.Imported }

// Member is the description that a node sends when it joins.
type Member struct {
	Node   string `json:"node"`   // the name it was started under
	Client string `json:"client"` // where clients reach it
	// Nonvoter, in group 0, says that an operator wants the member to have the state but no vote, in all groups.
	Nonvoter bool `json:"spare"`

	Formats FormatVersion `json:"formats,omitempty"` // the newest version that it knows
}

// maxRemoved bounds Cluster.Removed.
const maxRemoved = 64

// IsRemoved reports whether an operator has removed a node, and has not added it again.
func (r *Cluster) IsRemoved(id raft.ServerID) bool { return slices.Contains(r.Removed, id) }

// withMember returns a copy with one member changed or removed.
func (r *Cluster) withMember(b MemberBody) *Cluster {
	next := *r
	next.Members = make(map[raft.ServerID]Member, len(r.Members)+1)
	maps.Copy(next.Members, r.Members)
	delete(next.Members, b.ID)
	next.Removed = slices.DeleteFunc(slices.Clone(r.Removed), func(id raft.ServerID) bool { return id == b.ID })
	switch {
	case b.Member != nil:
		next.Members[b.ID] = *b.Member
		return &next
	case b.Removed:
		next.Removed = append(next.Removed, b.ID)
		next.Removed = next.Removed[max(0, len(next.Removed)-maxRemoved):]
	}
	next.withoutProcess(b.ID)
	return &next
}

// Apply implements raft.FSM.
func (f *Machine) Apply(l *raft.Log) any {
	if f.Broken != nil {
		return nil
	}
	e, err := readEntry(l.Data)
	if err == nil {
		err = f.apply(l.Index, e)
	}
	if err != nil {
		f.Broken = fmt.Errorf("entry %d of the log: %w; no node of this version can go on behind it: start all with the newest version, or the one that wrote it", l.Index, err)
		f.Fail(f.Broken)
	}
	return nil
}

// StoreConfiguration implements raft.ConfigurationStore. Raft keeps the configuration itself; its entry only counts as
// applied.
func (f *Machine) StoreConfiguration(index uint64, _ raft.Configuration) { f.noteApplied(index) }

func (f *Machine) noteApplied(index uint64) {
	f.Applied.Store(index)
	f.appliedMoved.Broadcast()
}

// AwaitApplied waits until an entry is applied. It returns false if ctx is done before.
func (f *Machine) AwaitApplied(ctx context.Context, index uint64) bool {
	for f.Applied.Load() < index {
		moved := f.appliedMoved.Wait()
		if f.Applied.Load() >= index {
			break
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (f *Machine) apply(index uint64, e entryView) error {
	now := max(f.Now.Load(), e.now)
	f.Clock.Observe(now)
	f.Entries.Add(1)
	var err error
	if e.kind == KindDecisions {
		err = f.applyDecisions(now, e)
	} else {
		err = f.applyToCluster(e)
	}
	if err != nil {
		return err
	}
	// Now its effects can be seen, and its calls are answered.
	f.Now.Store(now)
	f.noteApplied(index)
	if f.own != nil {
		for _, c := range f.own {
			c.Settle(true)
		}
		f.own = nil
	}
	for i, c := range f.done {
		c.Batch.Done()
		f.done[i] = nil
	}
	f.done = f.done[:0]
	return nil
}

// applyDecisions applies the groups of an entry. Results for this process's own waiting calls are exchanged with the
// results in their batches, and the calls are added to f.done: the whole entry is applied before the first call is
// answered.
func (f *Machine) applyDecisions(now int64, e entryView) error {
	if e.proposer == f.OwnID {
		f.own = f.TakeCalls(e.number)
	}
	f.ops = f.ops[:0]
	body, decisions := e.body, 0
	for i := 0; len(body) > 0; i++ {
		g, rest, err := call.NextGroup(body)
		if err != nil {
			return err
		}
		first := len(f.ops)
		if f.ops, err = call.ReadGroup(&f.reader, g, f.ops); err != nil {
			return err
		}
		body = rest
		decisions += g.Count
		c := f.claim(i)
		if isShort(g, f.ops[first:]) {
			f.joined = append(f.joined, joinedGroup{c, g.Count})
			if len(f.ops) >= mostJoined {
				f.applyJoined(now)
			}
			continue
		}
		all := f.ops
		f.ops = all[:first]
		f.applyJoined(now)
		f.ops = all[first:]
		f.applyAlone(now, g, c)
		f.ops = all[:0]
	}
	f.applyJoined(now)
	f.Decisions.Add(int64(decisions))
	return nil
}

// claim returns the call of the i-th group of this process's own entry, to be answered; nil if nobody waits for it.
func (f *Machine) claim(i int) *call.Call {
	if f.own == nil {
		return nil
	}
	c := f.own[i]
	if won, _ := c.Claim(); !won {
		return nil
	}
	f.done = append(f.done, c)
	return c
}

// setCluster replaces the state of the cluster itself.
func (f *Machine) setCluster(next *Cluster) {
	before := f.Cluster.Swap(next)
	store.KeepLarge(f.Store, next.Version() >= LargeValues)
	store.LendToMany(f.Store, next.Version() >= manyLoans)
	f.Store.OwnTimes.SetDistinct(next.Version() >= distinctTimes)
	if f.OnCluster != nil {
		f.OnCluster(before, next)
	}
}

func (f *Machine) applyOps(now int64, atomic bool, results []engine.Result) {
	if atomic && len(f.ops) > 1 {
		f.Store.ApplyAtomic(now, f.ops, results)
	} else {
		f.Store.Apply(now, f.ops, results)
	}
	if f.OnApplied != nil {
		f.OnApplied(f.ops, results)
	}
}

// scratch returns n results to be discarded.
func (f *Machine) scratch(n int) []engine.Result {
	if len(f.results) < n {
		f.results = make([]engine.Result, max(n, 64))
	}
	return f.results[:n]
}
