package blocking

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// player is clients that wait, by their names.
type player struct {
	t    *testing.T
	keys Keys
	on   bool
	all  map[string]*Waiter
	log  []string // of those woken
}

func newPlayer(t *testing.T) *player {
	p := &player{t: t, all: map[string]*Waiter{}}
	p.keys.Start(func() { p.on = true }, func() { p.on = false })
	return p
}

func (p *player) add(name string, keys ...string) *Waiter {
	list := make([][]byte, len(keys))
	for i := range keys {
		list[i] = []byte(keys[i])
	}
	p.all[name] = p.keys.Add(0, list, ToTake, func(bool) { p.log = append(p.log, name) })
	return p.all[name]
}

// rest has clients look at all keys whose turn they have.
func (p *player) rest(name string, want ...string) {
	p.t.Helper()
	var got []string
	for {
		key, _, _, ok := p.all[name].Next()
		if !ok {
			break
		}
		got = append(got, key)
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("%s looks at %q, want %q", name, got, want)
	}
}

func (p *player) woken(want string) {
	p.t.Helper()
	if got := strings.Join(p.log, " "); got != want {
		p.t.Errorf("woken: %q, want %q", got, want)
	}
	p.log = nil
}

// The first in line is woken for a change, once, and the next when it has left.
func TestFirstInLineIsWoken(t *testing.T) {
	p := newPlayer(t)
	p.add("a", "k")
	p.add("b", "k", "j", "k")
	p.add("c", "j")
	if !p.on || p.keys.Len() != 3 {
		t.Errorf("changes are told: %v, %d wait", p.on, p.keys.Len())
	}
	p.rest("a", "k")
	p.rest("b", "j")
	p.rest("c")
	p.keys.Changed([]byte("k"))
	p.keys.Changed([]byte("k"))
	p.keys.Changed([]byte("other"))
	p.woken("a")
	p.rest("a", "k")
	p.keys.Changed([]byte("k"))
	p.woken("a")
	p.all["a"].Leave()
	p.all["a"].Leave()
	p.woken("b")
	p.rest("b", "k")
	p.keys.Changed([]byte("j"))
	p.keys.Changed([]byte("k"))
	p.woken("b")
	p.rest("b", "k", "j")
	p.all["b"].Leave()
	p.woken("c")
	p.rest("c", "j")
	p.keys.Changed(nil)
	p.woken("c")
	p.all["c"].Leave()
	if p.on || p.keys.Len() != 0 || len(p.keys.lines[ToTake]) != 0 {
		t.Errorf("changes are told: %v, %d wait for %d keys", p.on, p.keys.Len(), len(p.keys.lines[ToTake]))
	}
	for i := range p.keys.marks {
		if n := p.keys.marks[i].Load(); n != 0 {
			t.Errorf("%d waiters are marked", n)
		}
	}
}

// A change while the first looks is not missed, and wakes nobody else.
func TestChangeDuringALook(t *testing.T) {
	p := newPlayer(t)
	a := p.add("a", "k")
	p.add("b", "k")
	if got := a.Turns(); !slices.Equal(got, []string{"k"}) {
		t.Fatalf("%q", got)
	}
	p.keys.Changed([]byte("k"))
	p.woken("")
	p.rest("a", "k")
	p.rest("b")
	a.Again("k")
	p.woken("a")
	a.Leave()
	a.Again("k")
	p.woken("b")
}

// The end of a wait wakes its client alone, and happens once.
func TestFinish(t *testing.T) {
	p := newPlayer(t)
	a := p.add("a", "k")
	p.rest("a", "k")
	if !a.Finish(Unblocked) || a.Finish(TimedOut) {
		t.Error("a wait ends twice, or never")
	}
	p.woken("a")
	if _, _, end, ok := a.Next(); end != Unblocked || ok {
		t.Errorf("%v %v", end, ok)
	}
	a.Leave()
	if a.Finish(TimedOut) {
		t.Error("a wait that is over ends")
	}
	p.woken("")
}

// Clients of many lines leave them in any order, and the first of each line is always the one that has waited longest.
func TestLinesAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(testsize.Seed(), 5))
	p := newPlayer(t)
	type client struct {
		*Waiter
		keys []string
	}
	var all []client // in the order of arrival
	for range testsize.Pick(3_000, 30_000) {
		if len(all) == 0 || random.IntN(2) == 0 {
			keys := make([]string, 1+random.IntN(100))
			for i := range keys {
				keys[i] = strconv.Itoa(random.IntN(200))
			}
			all = append(all, client{p.add("w", keys...), keys})
		} else {
			i := random.IntN(len(all))
			all[i].Leave()
			all = slices.Delete(all, i, i+1)
		}
		turns := map[string]bool{}
		for key, l := range p.keys.lines[ToTake] {
			i := slices.IndexFunc(all, func(c client) bool { return slices.Contains(c.keys, key) })
			if l.first.of != all[i].Waiter || l.first.prev != nil || l.last.next != nil {
				t.Fatalf("the first in the line of %s is another one", key)
			}
			turns[key] = true
		}
		total := 0
		for _, c := range all {
			total += c.Len()
			for _, key := range c.keys {
				if !turns[key] {
					t.Fatalf("nobody waits for %s", key)
				}
			}
		}
		if p.keys.turns != total || p.keys.Len() != len(all) {
			t.Fatalf("%d turns are counted of %d waiters, there are %d of %d", p.keys.turns, p.keys.Len(), total, len(all))
		}
	}
	for _, c := range all {
		c.Leave()
	}
	if p.keys.turns != 0 || len(p.keys.lines[ToTake]) != 0 {
		t.Errorf("%d turns and %d lines are left", p.keys.turns, len(p.keys.lines[ToTake]))
	}
}

// Beyond the bound of all turns, a client waits for one key at most.
func TestTurnsAreBounded(t *testing.T) {
	p := newPlayer(t)
	p.keys.turns = MaxTurns - 1
	two := [][]byte{[]byte("a"), []byte("b")}
	if p.keys.Add(0, two, ToTake, nil) != nil {
		t.Error("there are more turns than the bound")
	}
	if p.keys.Add(0, two[:1], ToTake, nil) == nil || p.keys.Add(0, two[1:], ToTake, nil) == nil {
		t.Error("a client that waits for one key is refused")
	}
}
