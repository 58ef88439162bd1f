package algorithm

import (
	"encoding/binary"
	"sort"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
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
	LogHead     = 24
	logMinRoom  = 4
	logWarnedAt = 15

	// grantBytes is about the size of a grant in the reply to a client.
	grantBytes = 32
)

func (g SlidingLog) u32(at int) int { return int(binary.LittleEndian.Uint32(g[at:])) }

// SetU32 writes a number of 4 bytes.
func (g SlidingLog) SetU32(at, value int) { binary.LittleEndian.PutUint32(g[at:], uint32(value)) }
func (g SlidingLog) room() int            { return g.u32(4) }
func (g SlidingLog) oldest() int          { return g.u32(8) }
func (g SlidingLog) len() int             { return layout.LoadSize(g[12:]) }
func (g SlidingLog) setLen(n int)         { layout.StoreSize(g[12:], n) }
func (g SlidingLog) base() uint64         { return binary.LittleEndian.Uint64(g[16:]) }
func (g SlidingLog) setBase(total uint64) { binary.LittleEndian.PutUint64(g[16:], total) }
func (g SlidingLog) entry(i int) []byte {
	at := g.oldest() + i
	if at >= g.room() {
		at -= g.room()
	}
	return g[LogHead+at*engine.LogEntry:]
}
func (g SlidingLog) time(i int) int64   { return int64(binary.LittleEndian.Uint64(g.entry(i))) }
func (g SlidingLog) total(i int) uint64 { return binary.LittleEndian.Uint64(g.entry(i)[8:]) }

// Set writes a grant: its time, and the tokens granted up to it.
func (g SlidingLog) Set(i int, time int64, total uint64) {
	binary.LittleEndian.PutUint64(g.entry(i), uint64(time))
	binary.LittleEndian.PutUint64(g.entry(i)[8:], total)
}

// before is the total of all tokens granted before entry i.
func (g SlidingLog) before(i int) uint64 {
	if i == 0 {
		return g.base()
	}
	return g.total(i - 1)
}

// first returns the first entry inside the window that ends at now.
func (g SlidingLog) first(now, width int64) int {
	n := g.len()
	if n == 0 || g.time(0) > now-width {
		return 0
	}
	return sort.Search(n, func(i int) bool { return g.time(i) > now-width })
}

// used is the tokens of the entries from i on.
func (g SlidingLog) used(i int) int64 {
	n := g.len()
	if i >= n {
		return 0
	}
	return int64(g.total(n-1) - g.before(i))
}

// logOf returns the call's log, empty when the key has expired.
func logOf(c *Call) SlidingLog {
	if c.IsNew {
		return SlidingLog(emptyLog[:])
	}
	return SlidingLog(c.State)
}

var emptyLog [LogHead]byte

func decideLog(c *Call) (changed bool) {
	g, width := logOf(c), c.Limit.Rate.Period
	first := g.first(c.Now, width)
	used := g.used(first)
	granted, ok := grantCounted(c, used)
	if !ok {
		if c.Result.Status == engine.OK && c.Result.Wait != engine.NeverWait {
			c.Result.Wait = logWait(c, g, first)
		}
		reportLog(c, g, used, false)
		return false
	}
	reportLog(c, g, used+granted, c.Op.Options&engine.Force != 0)
	if granted > 0 {
		c.Result.Reset = max(c.Result.Reset, width) // longer only if the clock went back
	}
	return granted > 0
}

// logWait is the time until enough entries have left the window.
func logWait(c *Call, g SlidingLog, first int) int64 {
	n := c.Op.Tokens
	if c.Op.Options&engine.UpTo != 0 {
		n = 1
	}
	room := c.grantable()
	count := g.len()
	last := g.total(count - 1)
	gone := first + sort.Search(count-first, func(i int) bool { return int64(last-g.total(first+i)) <= room-n })
	return max(1, g.time(gone)+c.Limit.Rate.Period-c.Now)
}

func reportLog(c *Call, g SlidingLog, used int64, showDebt bool) {
	reportCount(c, used, c.Limit.Capacity, showDebt)
	if n := g.len(); n > 0 {
		c.Result.Reset = max(0, g.time(n-1)+c.Limit.Rate.Period-c.Now)
	}
}

// needLog is the room for the entries inside the window and one more, doubled as it grows.
func needLog(c *Call) int {
	g := logOf(c)
	room := max(g.room(), logMinRoom)
	if live := g.len() - g.first(c.Now, c.Limit.Rate.Period); live >= room {
		room = max(room, int(min(2*int64(room), c.Limit.Capacity)))
	}
	return LogHead + room*engine.LogEntry
}

// FullLog is the room for as many entries as the limit allows.
func FullLog(l *limits.Limit) int64 { return LogHead + l.Capacity*engine.LogEntry }

// writeLog drops the entries that have left the window and adds the grant.
func writeLog(c *Call, state []byte) {
	g := SlidingLog(state)
	g.stretch((len(state) - LogHead) / engine.LogEntry)
	if first := g.first(c.Now, c.Limit.Rate.Period); first > 0 {
		g.setBase(g.before(first))
		g.SetU32(8, (g.oldest()+first)%g.room())
		g.setLen(g.len() - first)
	}
	n, now, granted := g.len(), c.Now, uint64(c.Result.Granted)
	switch {
	case n == 0:
		g.setBase(0)
		g.setLen(1)
		g.Set(0, now, granted)
	case g.time(n-1) >= now: // the same instant, or a clock that went back
		g.Set(n-1, g.time(n-1), g.total(n-1)+granted)
	case n == g.room(): // only FORCE gets here: tokens beyond the limit count with the newest entry
		g.Set(n-1, now, g.total(n-1)+granted)
	default:
		g.setLen(n + 1)
		g.Set(n, now, g.total(n-1)+granted)
	}
}

// timeOfGrant is the time that writeLog counts a grant at: the time of the newest entry if the clock went back.
func timeOfGrant(c *Call) int64 {
	g := logOf(c)
	if n := g.len(); n > 0 {
		return max(c.Now, g.time(n-1))
	}
	return c.Now
}

// stretch gives a ring more room. Entries that had wrapped to the front move to the end. There is room for them,
// because a ring at least doubles or has not wrapped.
func (g SlidingLog) stretch(room int) {
	old := g.room()
	if old == room {
		return
	}
	entries := g[LogHead:]
	if wrapped := g.oldest() + g.len() - old; wrapped > 0 {
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

func lookLog(c *Call) {
	g := logOf(c)
	reportLog(c, g, g.used(g.first(c.Now, c.Limit.Rate.Period)), c.Op.Verb == engine.Look)
}

// refundLog takes tokens off the newest entries.
func refundLog(c *Call) {
	g := SlidingLog(c.State)
	first := g.first(c.Now, c.Prev.Rate.Period)
	left := min(c.Op.Tokens, g.used(first))
	c.Result.Granted = left
	for n := g.len(); left > 0; n = g.len() {
		total, before := g.total(n-1), g.before(n-1)
		if taken := int64(total - before); taken > left {
			g.Set(n-1, g.time(n-1), total-uint64(left))
			break
		} else {
			left -= taken
			g.setLen(n - 1)
		}
	}
	reportLog(c, g, g.used(min(first, g.len())), true)
}

func usedOfLog(state []byte, l *limits.Limit, now int64) int64 {
	g := SlidingLog(state)
	return g.used(g.first(now, l.Rate.Period))
}

func logExpired(state []byte, l *limits.Limit, now int64) bool {
	g := SlidingLog(state)
	n := g.len()
	return n == 0 || g.time(n-1) <= now-l.Rate.Period
}

func validLog(state []byte) bool {
	g := SlidingLog(state)
	if len(g) < LogHead {
		return false
	}
	room, n := g.room(), g.len()
	if room < 1 || len(g) != LogHead+room*engine.LogEntry || g.oldest() >= room || n > room {
		return false
	}
	for i := 1; i < n; i++ {
		if g.time(i) < g.time(i-1) {
			return false
		}
	}
	return true
}

// plainLog lists times and tokens. Entries that have left the window are included while they are in the ring: a limit
// with a longer window would count them. In front of them is whether the limiter has warned.
func plainLog(state []byte, _ int64) (plain []byte) {
	if state[logWarnedAt]&layout.WarnedBit != 0 {
		plain = append(plain, 1)
	}
	return SlidingLog(state).appendPlain(plain, 0)
}

// appendPlain appends the time and the tokens of each entry from the given one on.
func (g SlidingLog) appendPlain(plain []byte, from int) []byte {
	for i := from; i < g.len(); i++ {
		plain = binary.LittleEndian.AppendUint64(plain, uint64(g.time(i)))
		plain = binary.LittleEndian.AppendUint64(plain, g.total(i)-g.before(i))
	}
	return plain
}

// listLog lists the newest entries inside the window. In one batch it lists no more than engine.MaxListedBytes.
func listLog(c *Call) {
	if c.Prev.Algorithm != limits.SlidingLog {
		c.WrongType(limits.SlidingLog)
		return
	}
	g := SlidingLog(c.State)
	n := min(g.len()-g.first(c.Now, c.Prev.Rate.Period), int(c.Op.Tokens))
	if c.Listed += n * grantBytes; c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	c.Result.Reply = g.appendPlain(c.Result.Reply[:0], g.len()-n)
	c.Result.Work += n
}

// MaxLogLimit is the most that fits a state.
var _ = [1]struct{}{}[(engine.MaxVariableState-LogHead)/engine.LogEntry-limits.MaxLogLimit]
