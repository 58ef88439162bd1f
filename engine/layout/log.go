package layout

import (
	"encoding/binary"
	"sort"

	"github.com/stintdb/stint/engine"
)

// SlidingLog is the state of a sliding window log: a ring of the times at which tokens were granted, oldest first.
// Entries hold running totals, so that the tokens of any window, and the time at which enough of them are out of it,
// are found by bisection.
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     entries the ring has room for
//	8       4     position of the oldest entry
//	12      4     number of entries, and the warned bit
//	16      8     total of the tokens granted before the oldest entry, modulo 2^64
//	24      16    entry: time in nanoseconds since the Unix epoch, and the total including its tokens
type SlidingLog []byte

const (
	// LogHead is the number of bytes of a log before its grants.
	LogHead = 24
	// LogWarnedAt is the byte with [WarnedBit].
	LogWarnedAt = 15
)

func (g SlidingLog) u32(at int) int { return int(binary.LittleEndian.Uint32(g[at:])) }

// SetU32 writes a number of 4 bytes.
func (g SlidingLog) SetU32(at, value int) { binary.LittleEndian.PutUint32(g[at:], uint32(value)) }

// Room is the number of entries that there is room for.
func (g SlidingLog) Room() int   { return g.u32(4) }
func (g SlidingLog) oldest() int { return g.u32(8) }

// Len is the number of entries.
func (g SlidingLog) Len() int             { return LoadSize(g[12:]) }
func (g SlidingLog) setLen(n int)         { StoreSize(g[12:], n) }
func (g SlidingLog) base() uint64         { return binary.LittleEndian.Uint64(g[16:]) }
func (g SlidingLog) setBase(total uint64) { binary.LittleEndian.PutUint64(g[16:], total) }

// Entry is the bytes of entry i and of what follows it in memory; the time of the entry is first.
func (g SlidingLog) Entry(i int) []byte {
	at := g.oldest() + i
	if at >= g.Room() {
		at -= g.Room()
	}
	return g[LogHead+at*engine.LogEntry:]
}

// Time is the time of entry i.
func (g SlidingLog) Time(i int) int64   { return int64(binary.LittleEndian.Uint64(g.Entry(i))) }
func (g SlidingLog) total(i int) uint64 { return binary.LittleEndian.Uint64(g.Entry(i)[8:]) }

// Set writes a grant: its time, and the tokens granted up to it.
func (g SlidingLog) Set(i int, time int64, total uint64) {
	binary.LittleEndian.PutUint64(g.Entry(i), uint64(time))
	binary.LittleEndian.PutUint64(g.Entry(i)[8:], total)
}

// before is the total of all tokens granted before entry i.
func (g SlidingLog) before(i int) uint64 {
	if i == 0 {
		return g.base()
	}
	return g.total(i - 1)
}

// First returns the first entry inside the window that ends at now.
func (g SlidingLog) First(now, width int64) int {
	n := g.Len()
	if n == 0 || g.Time(0) > now-width {
		return 0
	}
	return sort.Search(n, func(i int) bool { return g.Time(i) > now-width })
}

// Used is the tokens of the entries from i on.
func (g SlidingLog) Used(i int) int64 {
	n := g.Len()
	if i >= n {
		return 0
	}
	return int64(g.total(n-1) - g.before(i))
}

// LastToLeave is the entry with which so many have left, of those from first on, that the others hold at most some
// tokens.
func (g SlidingLog) LastToLeave(first int, tokens int64) int {
	n := g.Len()
	last := g.total(n - 1)
	return first + sort.Search(n-first, func(i int) bool { return int64(last-g.total(first+i)) <= tokens })
}

// Drop forgets the entries before first.
func (g SlidingLog) Drop(first int) {
	if first > 0 {
		g.setBase(g.before(first))
		g.SetU32(8, (g.oldest()+first)%g.Room())
		g.setLen(g.Len() - first)
	}
}

// Add adds a grant to the newest entry, if that has the same time, a later one, or all the room; otherwise in an entry
// of its own.
func (g SlidingLog) Add(now int64, granted uint64) {
	n := g.Len()
	switch {
	case n == 0:
		g.setBase(0)
		g.setLen(1)
		g.Set(0, now, granted)
	case g.Time(n-1) >= now: // the same instant, or a clock that went back
		g.Set(n-1, g.Time(n-1), g.total(n-1)+granted)
	case n == g.Room(): // only FORCE gets here: tokens beyond the limit count with the newest entry
		g.Set(n-1, now, g.total(n-1)+granted)
	default:
		g.setLen(n + 1)
		g.Set(n, now, g.total(n-1)+granted)
	}
}

// Stretch gives a ring more room. Entries that had wrapped to the front move to the end. There is room for them,
// because a ring at least doubles or has not wrapped.
func (g SlidingLog) Stretch(room int) {
	old := g.Room()
	if old == room {
		return
	}
	entries := g[LogHead:]
	if wrapped := g.oldest() + g.Len() - old; wrapped > 0 {
		if old+wrapped <= room {
			copy(entries[old*engine.LogEntry:], entries[:wrapped*engine.LogEntry])
		} else { // less than doubled: move the part at the end to the new end
			tail := old - g.oldest()
			copy(entries[(room-tail)*engine.LogEntry:], entries[g.oldest()*engine.LogEntry:old*engine.LogEntry])
			g.SetU32(8, room-tail)
		}
	}
	g.SetU32(4, room)
}

// TakeNewest takes tokens off the newest entries.
func (g SlidingLog) TakeNewest(tokens int64) {
	for n := g.Len(); tokens > 0; n = g.Len() {
		total, before := g.total(n-1), g.before(n-1)
		taken := int64(total - before)
		if taken > tokens {
			g.Set(n-1, g.Time(n-1), total-uint64(tokens))
			return
		}
		tokens -= taken
		g.setLen(n - 1)
	}
}

// TakeAt takes tokens off the entry of one time, among those from i on, and removes it if none are left. It returns how
// many it took.
func (g SlidingLog) TakeAt(i int, time, tokens int64) (taken int64) {
	for ; i < g.Len() && g.Time(i) < time; i++ {
	}
	if i == g.Len() || g.Time(i) != time {
		return 0
	}
	back := uint64(min(tokens, int64(g.total(i)-g.before(i))))
	to, n := i, g.Len()
	if g.total(i)-g.before(i) == back {
		i++
	}
	for ; i < n; i, to = i+1, to+1 {
		g.Set(to, g.Time(i), g.total(i)-back)
	}
	g.setLen(to)
	return int64(back)
}

// IsValid reports whether all offsets in the log are within it, and its times in order.
func (g SlidingLog) IsValid() bool {
	if len(g) < LogHead {
		return false
	}
	room, n := g.Room(), g.Len()
	if room < 1 || len(g) != LogHead+room*engine.LogEntry || g.oldest() >= room || n > room {
		return false
	}
	for i := 1; i < n; i++ {
		if g.Time(i) < g.Time(i-1) {
			return false
		}
	}
	return true
}

// AppendPlain appends the time and the tokens of each entry from the given one on.
func (g SlidingLog) AppendPlain(plain []byte, from int) []byte {
	for i := from; i < g.Len(); i++ {
		plain = binary.LittleEndian.AppendUint64(plain, uint64(g.Time(i)))
		plain = binary.LittleEndian.AppendUint64(plain, g.total(i)-g.before(i))
	}
	return plain
}
