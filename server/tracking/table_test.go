package tracking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/fanout"
)

func newTestTable(keys int64) (t *Table, listening *int) {
	listening = new(int)
	return NewTable(new(fanout.Queue), func() Bounds { return Bounds{keys, 1 << 30} }, func() { *listening++ }, func() { *listening-- }), listening
}

func newTestInbox(of *Table) *Inbox {
	b, owner := new(Inbox), new(fanout.Reader)
	owner.Init(of.queue, func() {})
	b.Init(owner)
	return b
}

// turn returns the messages of a client in its turn.
func (c *Client) turn() []Message {
	c.own.owner.BeginTurn()
	c.Pull()
	return c.own.Take()
}

// The prefixes of a key are found as by comparing it with each of them.
func TestPrefixesOfKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(testsize.Seed(), 1))
	word := func(most int) string {
		return strings.Map(func(rune) rune { return rune('a' + random.IntN(2)) }, strings.Repeat("x", random.IntN(most)))
	}
	for range 300 {
		var all rows
		var prefixes []string
		for range random.IntN(12) {
			prefix := word(6)
			if all = all.with([]string{prefix}, nil); !slices.Contains(prefixes, prefix) {
				prefixes = append(prefixes, prefix)
			}
		}
		if len(prefixes) > 0 && random.IntN(2) == 0 {
			all = all.without(prefixes[:1])
			prefixes = prefixes[1:]
		}
		for range 20 {
			key := word(9)
			var got, want []string
			all.each([]byte(key), func(r *row) { got = append(got, r.prefix) })
			for _, prefix := range prefixes {
				if strings.HasPrefix(key, prefix) {
					want = append(want, prefix)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%q has the prefixes %q, want %q", key, got, want)
			}
		}
	}
}

// Each client of a key gets one message when it changes, and the counts come back to nothing.
func TestTableAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(testsize.Seed(), 2))
	table, listening := newTestTable(0)
	const number = 5 * toldAtOnce
	clients, read := make([]*Client, number), make([]map[string]bool, number)
	start := func(i int) {
		read[i] = map[string]bool{}
		box := newTestInbox(table)
		clients[i] = NewClient(box)
		if err := table.Start(clients[i], Options{}, box, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range clients {
		start(i)
	}
	for range 20_000 {
		i, key := random.IntN(len(clients)), fmt.Sprint("k", random.IntN(30))
		switch n := random.IntN(1000); {
		case n < 900:
			table.Track(clients[i], []byte(key))
			read[i][key] = true
		case n < 990:
			table.Changed([]byte(key))
			for j := range clients {
				told := clients[j].turn()
				if len(told) > 0 != read[j][key] || len(told) > 1 || len(told) == 1 && string(told[0].Keys[0]) != key {
					t.Fatalf("client %d read %s: %v, and is told %v", j, key, read[j][key], told)
				}
				delete(read[j], key)
			}
		case n < 998:
			table.Stop(clients[i])
			table.Forget(clients[i])
			if clients[i].Bytes() != 0 || clients[i].Items() != 0 {
				t.Fatalf("%d bytes and %d items of a client are left", clients[i].Bytes(), clients[i].Items())
			}
			start(i)
		default:
			table.Changed(nil)
			for j := range clients {
				if told := clients[j].turn(); len(told) != 1 || told[0].Kind != All {
					t.Fatalf("after a flush, client %d is told %v", j, told)
				}
				clear(read[j])
			}
		}
		items := 0
		for _, r := range read {
			items += len(r)
		}
		if got := table.items.Load(); got != int64(items) {
			t.Fatalf("%d items are counted, there are %d", got, items)
		}
	}
	for _, c := range clients {
		table.Stop(c)
		table.Forget(c)
	}
	if c, keys, items, prefixes := table.Counts(); c+keys+items+prefixes+table.bytes.Load()+int64(*listening) != 0 {
		t.Errorf("%d clients, %d keys, %d items, %d prefixes, %d bytes and %d listeners are left", c, keys, items, prefixes, table.bytes.Load(), *listening)
	}
}

// A full table forgets a key for each new one, and invalidates it for those that have read it.
func TestFullTable(t *testing.T) {
	table, _ := newTestTable(10)
	box := newTestInbox(table)
	c := NewClient(box)
	_ = table.Start(c, Options{}, box, nil)
	held := map[string]bool{}
	for i := range 1000 {
		key := fmt.Sprint("k", i)
		table.Track(c, []byte(key))
		held[key] = true
		for _, m := range box.Take() {
			delete(held, string(m.Keys[0]))
		}
		if len(held) > 10 || !held[key] {
			t.Fatalf("the client holds %d keys, with the newest: %v", len(held), held[key])
		}
	}
}
