package layout

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

const sec = int64(1e9)

// A meter shows the tokens taken at any time after it was written, to the last tick, and no more when all are back.
func TestMeter(t *testing.T) {
	third := limits.Rate{Tokens: 3, Period: 10 * sec} // a token is 10⁹·10 ticks, a nanosecond is 3
	for _, c := range []struct{ ticks, after, want int64 }{
		{0, 0, 0}, {1, 0, 1}, {10 * sec, 0, 10 * sec}, {10 * sec, 1, 10*sec - 3}, {10 * sec, 3333333333, 1}, {10 * sec, 3333333334, 0}, {10 * sec, 100 * sec, 0},
		{10 * sec, -sec, 13 * sec}, // the clock went back
	} {
		state := make([]byte, MeterBytes)
		MeterAfter(5, uint128.Int{Lo: uint64(c.ticks)}, third).Store(state)
		m := LoadMeter(state)
		if got := m.Taken(5+c.after, third); got != (uint128.Int{Lo: uint64(c.want)}) || m.IsFull(5+c.after) != (c.want == 0) {
			t.Errorf("%d ticks taken, %d ns later: %v, want %d", c.ticks, c.after, got, c.want)
		}
	}
}

// Tokens taken stay the same under another rate, rounded up to a tick.
func TestCarryOver(t *testing.T) {
	for _, c := range []struct{ ticks, from, to, want int64 }{
		{7, 10, 10, 7}, {70, 10, 20, 140}, {75, 10, 20, 150}, {75, 10, 3, 23}, {70, 10, 3, 21}, {0, 10, 3, 0},
	} {
		got := CarryOver(uint128.Int{Lo: uint64(c.ticks)}, limits.Rate{Tokens: 1, Period: c.from}, limits.Rate{Tokens: 5, Period: c.to})
		if got != (uint128.Int{Lo: uint64(c.want)}) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Of the window before, as much counts as a window that reaches back from now covers.
func TestWindowPair(t *testing.T) {
	const width = 10 * sec
	first := WindowPair{Start: 100 * sec, Cur: 6}
	for _, c := range []struct {
		now         int64
		want        WindowPair
		taken       int64 // tokens times the width
		reset, wait int64 // until 5 more fit a capacity of 8
	}{
		{100 * sec, first, 6 * width, 20 * sec, 15 * sec},
		{109 * sec, first, 6 * width, 11 * sec, 6 * sec},
		{95 * sec, first, 6 * width, 25 * sec, 20 * sec}, // the clock went back
		{110 * sec, WindowPair{Start: 110 * sec, Prev: 6}, 6 * width, 10 * sec, 5 * sec},
		{115 * sec, WindowPair{Start: 110 * sec, Prev: 6}, 3 * width, 5 * sec, 0},
		{120 * sec, WindowPair{Start: 120 * sec}, 0, 0, 0},
	} {
		state := make([]byte, WindowPairBytes)
		first.Store(state)
		p := LoadWindowPair(state).At(c.now, width)
		wait := int64(0)
		if p.Cur+p.Prev > 0 {
			wait = p.Wait(c.now, width, 8, 5)
		}
		if p != c.want || p.Taken(c.now, width) != (uint128.Int{Lo: uint64(c.taken)}) || p.Reset(c.now, width) != c.reset || wait != c.wait {
			t.Errorf("at %d s: %+v, %v taken, reset in %d, wait %d; want %+v", c.now/sec, p, p.Taken(c.now, width), p.Reset(c.now, width), wait, c)
		}
	}
}

// The bit that says that a limiter has warned is no part of the number that it lies in.
func TestWarnedBit(t *testing.T) {
	b := make([]byte, 8)
	for _, warned := range []bool{false, true} {
		for _, n := range []int64{0, 1, limits.MaxTokens} {
			StoreCount(b, n, warned)
			if got, has := LoadCount(b); got != n || has != warned || (b[7]&WarnedBit != 0) != warned {
				t.Errorf("%d, %v: read as %d, %v", n, warned, got, has)
			}
		}
	}
	b[3] = WarnedBit
	if StoreSize(b, 1000); LoadSize(b) != 1000 || b[3]&WarnedBit == 0 {
		t.Errorf("a size beside the bit: % x", b[:4])
	}
}

// The newest windows are kept, with what of them is reserved, and a settlement finds its window by the start.
func TestHistory(t *testing.T) {
	var h History
	show := func() (text string) {
		for i := range h.Len() {
			w := h.At(i)
			text += fmt.Sprintf("[%d %d: %d, %d reserved]", w.Start, w.End, w.Used, w.Reserved)
		}
		return text
	}
	for _, c := range []struct {
		what string
		do   func()
		want string
	}{
		{"nothing", func() {}, ""},
		{"an unused window", func() { h.Close(0, 10, 0, 0, 2) }, ""},
		{"one", func() { h.Reserved = 3; h.Close(10, 20, 5, 0, 2) }, "[10 20: 5, 3 reserved]"},
		{"two", func() { h.Reserved = 9; h.Close(20, 30, 4, 0, 2) }, "[20 30: 4, 4 reserved][10 20: 5, 3 reserved]"},
		{"more than are kept", func() { h.Close(30, 40, 1, 0, 2) }, "[30 40: 1, 0 reserved][20 30: 4, 4 reserved]"},
		{"settled", func() { h.Settle(20, 1, 4) }, "[30 40: 1, 0 reserved][20 30: 3, 0 reserved]"},
		{"settled for a window that is gone", func() { h.Settle(10, 5, 3) }, "[30 40: 1, 0 reserved][20 30: 3, 0 reserved]"},
		{"given back whole", func() { h.Settle(30, 9, 0) }, "[20 30: 3, 0 reserved]"},
		{"earlier", func() { h.Rewind(5) }, "[15 25: 3, 0 reserved]"},
		{"cleared", func() { h.Clear() }, ""},
	} {
		if c.do(); show() != c.want {
			t.Errorf("%s: %s, want %s", c.what, show(), c.want)
		}
		read, rest, ok := ReadHistory(append(h.Append(nil, 2), 7))
		if !ok || read.Len() != h.Len() || len(rest) != 1+HistoryBytes(2, false)-HistoryBytes(uint8(h.Len()), false) {
			t.Errorf("%s: read as %d windows, %d bytes left, %v", c.what, read.Len(), len(rest), ok)
		}
	}
	h = History{Rolls: true}
	h.Close(10, 20, 5, 2, 2)
	h.Settle(10, 5, 0) // what the newest window has left may roll over
	if read, _, ok := ReadHistory(h.Append(nil, 2)); !ok || !read.Rolls || read.Left != 7 || read.Len() != 1 {
		t.Errorf("a history that rolls over is read as %+v, %v", read, ok)
	}
	h.Close(30, 40, 1, -9, 2)
	if read, _, ok := ReadHistory(h.Append(nil, 2)); !ok || read.Left != -9 || read.Len() != 1 || read.At(0).Start != 30 {
		t.Errorf("a history that rolls over is read as %+v, %v", read, ok)
	}
	if _, _, ok := ReadHistory([]byte{hasLeft, 0, 0, 0, 0, 0, 0, 0, 0, 0}); ok {
		t.Error("a history that rolls over and is none is read")
	}
	if _, _, ok := ReadHistory([]byte{3, 0}); ok {
		t.Error("half a history is read")
	}
}

// Loans are written and read alike; what is not well-formed is refused. Those whose time is over end in the order of
// their times.
func TestLoans(t *testing.T) {
	var l Loans
	l.Put(Loan{Holder: []byte("a"), Tokens: 5, Number: 1, Until: 300})
	l.Put(Loan{Holder: []byte("b"), Tokens: 7, Number: 2})
	l.Put(Loan{Holder: []byte("c"), Tokens: 2, Number: 3, Until: 200})
	l.Put(Loan{Holder: []byte("a"), Tokens: 6, Number: 4, Until: 300})
	l.Put(Loan{Holder: []byte("d"), Tokens: 0, Number: 5})
	if len(l.All) != 3 || l.Sum() != 15 || l.Of([]byte("a")).Number != 4 || l.Of([]byte("d")) != nil {
		t.Errorf("%+v", l)
	}
	state := l.AppendTo(nil, []byte("the state of the limiter"), &History{}, 0)
	var read Loans
	if _, ok := read.Read(state); !ok || fmt.Sprint(read) != fmt.Sprint(l) {
		t.Errorf("read as %+v", read)
	}
	for _, at := range []int{4, WrappingHead, len(state) - 1} {
		broken := slices.Clone(state)
		if broken[at] ^= 0xff; func() bool { _, ok := new(Loans).Read(broken); return ok }() {
			t.Errorf("read with another byte %d", at)
		}
	}
	if twice := (&Loans{All: append(l.All[:3:3], l.All[0])}); twice.AreDistinct() || !l.AreDistinct() {
		t.Error("a holder with two loans")
	}
	var ended []int64
	l.End(250, func(at, tokens int64) { ended = append(ended, at, tokens) })
	l.End(300, func(at, tokens int64) { ended = append(ended, at, tokens) })
	if !slices.Equal(ended, []int64{200, 2, 300, 6}) || l.Sum() != 7 {
		t.Errorf("ended %v, %d tokens stay", ended, l.Sum())
	}
}

// Members of a pool are found by name, and leave it in the order of their tags.
func TestSharePool(t *testing.T) {
	const room, nameRoom = PoolMinRoom, PoolMinName
	p := SharePool(make([]byte, ShareBytes(room, nameRoom)))
	SetVariableSize(p, len(p))
	p.Enlarge(room, nameRoom)
	p.Begin(100)
	for i, name := range []string{"c", "a", "b"} {
		p.Add([]byte(name), uint32(1+i), uint64(30-10*i))
	}
	n, _, found := p.Find([]byte("a"))
	if e := p.Entry(n); !found || string(e.Name()) != "a" || e.Weight() != 2 || p.TagAt(e.Place()) != 20 || p.Active() != 3 || p.Weights() != 6 {
		t.Errorf("a is %v, %q of weight %d; %d members of weight %d", found, e.Name(), e.Weight(), p.Active(), p.Weights())
	}
	if _, _, found := p.Find([]byte("d")); found {
		t.Error("d is a member")
	}
	p.Change(n, 5, 40)
	if !ValidShares(p) || p.Weights() != 9 {
		t.Errorf("after a change: valid %v, weight %d", ValidShares(p), p.Weights())
	}
	order := DrainOrder{Pool: p}
	var names string
	for i := range p.Active() {
		if i == 0 {
			order.Push(0)
		} else {
			order.Next()
		}
		names += string(p.Entry(p.EntryAt(int(order.Places[0]))).Name())
	}
	if names != "bca" {
		t.Errorf("they leave in the order %s", names)
	}
	p.ShareRefill(2, 200, 35, 0, 0)
	if _, _, found := p.Find([]byte("a")); !found || p.Active() != 1 || p.Weights() != 5 || p.SharedTo() != 200 || !ValidShares(p) {
		t.Errorf("after two left: a there %v, %d members of weight %d, valid %v", found, p.Active(), p.Weights(), ValidShares(p))
	}
	for i := range p {
		broken := slices.Clone(p)
		broken[i] ^= 0x55
		ValidShares(broken) // may be either, but must not panic
	}
}
