package fanout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// loop serves readers like an event loop: those that were woken before a pass, in that pass.
type loop struct {
	queue Queue
	woken []*client
	total int // wake-ups
}

// client is a reader with the items that it has read.
type client struct {
	Reader
	place   *Place[int]
	isWoken bool
	got     []int
	want    []int
	lost    bool
}

func (l *loop) client(log *Log[int]) *client {
	c := &client{}
	c.Init(&l.queue, func() {
		l.total++
		if !c.isWoken {
			c.isWoken = true
			l.woken = append(l.woken, c)
		}
	})
	c.place = log.Join(&c.Reader)
	return c
}

// turn is a turn of the client, in which it reads everything.
func (c *client) turn() {
	c.BeginTurn()
	if c.place != nil {
		items, isLost := c.place.Read()
		c.got, c.lost = append(c.got, items...), c.lost || isLost
	}
}

// pass serves the clients that were woken, and returns their number.
func (l *loop) pass() (served int) {
	woken := l.woken
	l.woken = nil
	for _, c := range woken {
		c.isWoken = false
		c.turn()
	}
	return len(woken)
}

func sizeOne(int) int { return 1 }

// An item costs the same for one reader as for ten thousand: at most one of them is woken at once, and few of them have
// turns in one pass.
func TestCostOfAnItem(t *testing.T) {
	const readers = 10_000
	allocations := map[int]float64{}
	for _, readers := range []int{1, readers} {
		l := &loop{}
		log := NewLog(&l.queue, 1<<20, sizeOne)
		for range readers {
			l.client(log)
		}
		log.Add(0)
		if l.total != 1 {
			t.Errorf("of %d readers, %d are woken for an item", readers, l.total)
		}
		before := l.total
		allocations[readers] = testing.AllocsPerRun(1000, func() { log.Add(1) })
		if woken := l.total - before; woken > window/turnPart {
			t.Errorf("of %d readers, %d are woken for 1000 items", readers, woken)
		}
		for served := 1; served > 0; {
			if served = l.pass(); served > window/turnPart {
				t.Fatalf("%d readers have a turn in one pass, at most %d may", served, window/turnPart)
			}
		}
		if log.behind != 0 || log.bytes != 0 || l.queue.logged.Load() != 0 || l.queue.taken != 0 || len(l.queue.due) != 0 {
			t.Errorf("with %d readers, %d are behind in the end, and %d bytes, %d of the window and %d sources are left",
				readers, log.behind, log.bytes, l.queue.taken, len(l.queue.due))
		}
	}
	if allocations[readers] != allocations[1] {
		t.Errorf("allocations for an item, by readers: %v", allocations)
	}
}

// Every reader gets each item that is added while it is there, in order, and is woken for it. Others join, leave and
// are away meanwhile.
func TestReadersAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(testsize.Seed(), 3))
	for range testsize.Pick(30, 300) {
		l := &loop{}
		logs := []*Log[int]{NewLog(&l.queue, 1<<20, sizeOne), NewLog(&l.queue, 1<<20, sizeOne)}
		clients := [2][]*client{}
		for item := range 2000 {
			of := random.IntN(len(logs))
			log, all := logs[of], &clients[of]
			switch n := random.IntN(10); {
			case n < 3:
				if got := log.Add(item); got != len(*all) {
					t.Fatalf("an item is for %d readers, want %d", got, len(*all))
				}
				for _, c := range *all {
					c.want = append(c.want, item)
				}
			case n < 5:
				*all = append(*all, l.client(log))
			case n < 6 && len(*all) > 0:
				i := random.IntN(len(*all))
				c := (*all)[i]
				if left := c.place.Leave(); left != len(*all)-1 {
					t.Fatalf("%d readers are left, want %d", left, len(*all)-1)
				}
				c.place = nil
				c.Pause()
				*all = slices.Delete(*all, i, i+1)
			case n < 7 && len(*all) > 0:
				c := (*all)[random.IntN(len(*all))]
				if c.away.Load() {
					c.Resume()
				} else {
					c.Pause()
				}
			case n < 8 && len(*all) > 0:
				(*all)[random.IntN(len(*all))].turn() // because it has sent something
			default:
				l.pass()
			}
		}
		for _, c := range slices.Concat(clients[:]...) {
			c.Resume()
		}
		for l.pass() > 0 {
		}
		for _, c := range slices.Concat(clients[:]...) {
			if !slices.Equal(c.got, c.want) || c.lost {
				t.Fatalf("a reader got %v, want %v, lost: %v", c.got, c.want, c.lost)
			}
		}
		if l.queue.taken != 0 || l.queue.logged.Load() != 0 {
			t.Fatalf("%d of the window and %d bytes are left", l.queue.taken, l.queue.logged.Load())
		}
	}
}

// A reader that is away holds up nobody, and has its turn when it is back.
func TestAwayReader(t *testing.T) {
	l := &loop{}
	log := NewLog(&l.queue, 1<<20, sizeOne)
	var away, here []*client
	for range 100 {
		c := l.client(log)
		c.Pause()
		away, here = append(away, c), append(here, l.client(log))
	}
	log.Add(7)
	for l.pass() > 0 {
	}
	for _, c := range here {
		if len(c.got) != 1 {
			t.Fatal("a reader has had no turn")
		}
	}
	for _, c := range away {
		c.Resume()
	}
	l.pass()
	for _, c := range away {
		if len(c.got) != 1 {
			t.Fatal("a reader that was away has had no turn")
		}
	}
}

// A reader that is far behind learns that it has lost items, and the others lose none. One item may be larger than the
// bound.
func TestBoundOfALog(t *testing.T) {
	l := &loop{}
	log := NewLog(&l.queue, 100, func(item int) int { return item })
	slow, quick := l.client(log), l.client(log)
	for range 1000 {
		log.Add(10)
		quick.turn()
		if log.bytes > 100 || l.queue.logged.Load() != int64(log.bytes) {
			t.Fatalf("%d bytes are kept, and %d counted", log.bytes, l.queue.logged.Load())
		}
	}
	slow.turn()
	if !slow.lost || quick.lost || len(quick.got) != 1000 {
		t.Errorf("the slow reader lost items: %v, the quick one: %v of %d", slow.lost, quick.lost, len(quick.got))
	}
	log.Add(1000)
	slow.lost = false
	slow.turn()
	if slow.lost || slow.got[len(slow.got)-1] != 1000 {
		t.Error("an item that is larger than the bound is lost")
	}
	log.Add(MaxLoggedBytes + 1)
	slow.turn()
	if !slow.lost || l.queue.logged.Load() != 0 {
		t.Errorf("%d bytes are kept, beyond the bound of all logs", l.queue.logged.Load())
	}
}

// A log whose readers read all the time, of which one is always an item behind, loses nothing to logs whose readers are
// stuck.
func TestBusyLogLosesNothing(t *testing.T) {
	l := &loop{}
	const most = MaxLoggedBytes / 4
	size := func(item int) int { return item }
	log := NewLog(&l.queue, most, size)
	readers := []*client{l.client(log), l.client(log)}
	log.Add(most / 64)
	for i := range 1000 {
		if i%10 == 5 && i < 50 {
			stuck := NewLog(&l.queue, most, size)
			l.client(stuck)
			stuck.Add(most)
		}
		log.Add(most / 64)
		readers[i%2].turn()
	}
	for i, c := range readers {
		if c.turn(); c.lost || len(c.got) != 1001 {
			t.Errorf("reader %d has %d items of 1001, lost: %v", i, len(c.got), c.lost)
		}
	}
}

// Readers that are far behind in many logs, until all logs together keep as much as they may, take no items from
// readers of other logs.
func TestOldestIsDropped(t *testing.T) {
	l := &loop{}
	const most = MaxLoggedBytes / 8
	size := func(item int) int { return item }
	var slow []*client
	for range 16 {
		log := NewLog(&l.queue, most, size)
		slow = append(slow, l.client(log))
		log.Add(most)
	}
	log := NewLog(&l.queue, most, size)
	quick := l.client(log)
	for range 1000 {
		log.Add(most / 64)
		quick.turn()
	}
	if quick.lost || len(quick.got) != 1000 {
		t.Errorf("a reader that is never behind has %d items of 1000", len(quick.got))
	}
	if logged := l.queue.logged.Load(); logged > MaxLoggedBytes || logged < MaxLoggedBytes-2*most {
		t.Errorf("%d bytes are kept, of %d that may be", logged, MaxLoggedBytes)
	}
	for i, c := range slow {
		if c.turn(); c.lost != (i < len(slow)/2+1) {
			t.Errorf("the reader of log %d has lost items: %v", i, c.lost)
		}
	}
	if l.queue.logged.Load() != 0 || l.queue.unread.Len() != 0 {
		t.Errorf("%d bytes and %d logs are left", l.queue.logged.Load(), l.queue.unread.Len())
	}
}

// Calls of many readers wake few of them at once, and all of them in the end.
func TestCalls(t *testing.T) {
	l := &loop{}
	log := NewLog(&l.queue, 100, sizeOne)
	for range 1000 {
		c := l.client(log)
		c.Call(100)
		c.Call(100)
	}
	for total := 0; total < 1000; {
		served := l.pass()
		if served == 0 || served*(turnPart+100) > window+turnPart+100 {
			t.Fatalf("%d readers have a turn in one pass, after %d", served, total)
		}
		total += served
	}
	if l.pass() != 0 || l.total != 1000 {
		t.Errorf("%d wake-ups", l.total)
	}
}
