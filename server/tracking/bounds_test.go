package tracking

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/server/fanout"
)

// crowd is clients that track, and a count of their wake-ups.
type crowd struct {
	table   *Table
	clients []*Client
	woken   []*Client
	total   int
}

func newCrowd(t *testing.T, clients int, o Options, prefixes ...string) *crowd {
	t.Helper()
	table, _ := newTestTable(0)
	all := &crowd{table: table}
	for range clients {
		box, owner := new(Inbox), new(fanout.Reader)
		c := NewClient(box)
		owner.Init(table.queue, func() {
			all.total++
			all.woken = append(all.woken, c)
		})
		box.Init(owner)
		if err := table.Start(c, o, box, prefixes); err != nil {
			t.Fatal(err)
		}
		all.clients = append(all.clients, c)
	}
	return all
}

// pass gives those that were woken their turns, and returns the keys that they are told.
func (all *crowd) pass() (turns, keys int) {
	woken := all.woken
	all.woken = nil
	for _, c := range woken {
		for _, m := range c.turn() {
			keys += len(m.Keys)
		}
	}
	return len(woken), keys
}

// most is how many clients have a turn in one pass of an event loop.
const most = 16

// cost returns the number of allocations when a key changes that all clients have read, or for which all clients have a
// prefix.
func (all *crowd) cost(t *testing.T) float64 {
	const rounds = maxDepartures // AllocsPerRun runs it once before
	for i := range rounds {
		for _, c := range all.clients {
			all.table.Track(c, fmt.Append(nil, "k", i))
		}
	}
	round := 0
	allocations := testing.AllocsPerRun(rounds-1, func() {
		all.table.Changed(fmt.Append(nil, "k", round))
		round++
	})
	if all.total > most {
		t.Errorf("a change wakes %d of %d clients", all.total, len(all.clients))
	}
	told := 0
	for turns := 1; turns > 0; {
		var keys int
		if turns, keys = all.pass(); turns > most {
			t.Fatalf("%d of %d clients have a turn in one pass", turns, len(all.clients))
		}
		told += keys
	}
	if want := rounds * len(all.clients); told != want {
		t.Errorf("clients are told of %d changes, want %d", told, want)
	}
	if n := all.table.number.Load(); n != 0 {
		t.Errorf("%d departures are left", n)
	}
	return allocations
}

// A change costs the same however many clients broadcast, or have read the key: it makes as many messages and wakes as
// few of them.
func TestCostOfAChange(t *testing.T) {
	for _, test := range []struct {
		name string
		Options
		prefixes []string
	}{{"read", Options{}, nil}, {"read, NOLOOP", Options{NoLoop: true}, nil}, {"broadcast", Options{Broadcast: true}, []string{"k"}}} {
		t.Run(test.name, func(t *testing.T) {
			few := newCrowd(t, 2*toldAtOnce, test.Options, test.prefixes...).cost(t)
			many := newCrowd(t, MaxPrefixes, test.Options, test.prefixes...).cost(t)
			if many > few+2 {
				t.Errorf("%v allocations for a change with %d clients, %v with %d", many, MaxPrefixes, few, 2*toldAtOnce)
			}
		})
	}
}

// Each prefix counts for every client that has it, and prefixes that begin with each other are few.
func TestPrefixesAreBounded(t *testing.T) {
	all := newCrowd(t, MaxPrefixes, Options{Broadcast: true}, "p")
	box := newTestInbox(all.table)
	if all.table.Start(NewClient(box), Options{Broadcast: true}, box, []string{"p"}) == nil {
		t.Errorf("one more than %d clients has a prefix", MaxPrefixes)
	}
	all.table.Stop(all.clients[0])
	if err := all.table.Start(NewClient(box), Options{Broadcast: true}, box, []string{"p"}); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	few := newCrowd(t, 0, Options{})
	prefix := ""
	for range MaxNestedPrefixes {
		box := newTestInbox(few.table)
		if err := few.table.Start(NewClient(box), Options{Broadcast: true}, box, []string{prefix}); err != nil {
			t.Fatal(err)
		}
		prefix += "x"
	}
	if few.table.Start(NewClient(box), Options{Broadcast: true}, box, []string{prefix}) == nil {
		t.Errorf("a key begins with more than %d prefixes", MaxNestedPrefixes)
	}
	if err := few.table.Start(NewClient(box), Options{Broadcast: true}, box, []string{"y"}); err != nil {
		t.Error(err)
	}
}
