package store

import (
	"encoding/binary"
	"sort"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// slidingLog is the state of a sliding window log: a ring of the times at which tokens were granted, oldest first.
// Entries hold running totals, so that the tokens of any window, and the time at which enough of them are out of it,
// are found by bisection.
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     entries the ring has room for
//	8       4     position of the oldest entry
//	12      4     number of entries
//	16      8     total of the tokens granted before the oldest entry, modulo 2^64
//	24      16    entry: time in nanoseconds since the Unix epoch, and the total including its tokens
type slidingLog []byte

const (
	logHead    = 24
	logMinRoom = 4

	// MaxGrants bounds the grants of a sliding log that one ListLog lists.
	MaxGrants = 10_000
	// grantBytes is about the size of a grant in the reply to a client.
	grantBytes = 32
)

func (g slidingLog) u32(at int) int       { return int(binary.LittleEndian.Uint32(g[at:])) }
func (g slidingLog) setU32(at, value int) { binary.LittleEndian.PutUint32(g[at:], uint32(value)) }
func (g slidingLog) room() int            { return g.u32(4) }
func (g slidingLog) oldest() int          { return g.u32(8) }
func (g slidingLog) len() int             { return g.u32(12) }
func (g slidingLog) base() uint64         { return binary.LittleEndian.Uint64(g[16:]) }
func (g slidingLog) setBase(total uint64) { binary.LittleEndian.PutUint64(g[16:], total) }
func (g slidingLog) entry(i int) []byte {
	at := g.oldest() + i
	if at >= g.room() {
		at -= g.room()
	}
	return g[logHead+at*engine.LogEntry:]
}
func (g slidingLog) time(i int) int64   { return int64(binary.LittleEndian.Uint64(g.entry(i))) }
func (g slidingLog) total(i int) uint64 { return binary.LittleEndian.Uint64(g.entry(i)[8:]) }

func (g slidingLog) set(i int, time int64, total uint64) {
	binary.LittleEndian.PutUint64(g.entry(i), uint64(time))
	binary.LittleEndian.PutUint64(g.entry(i)[8:], total)
}

// before is the total of all tokens granted before entry i.
func (g slidingLog) before(i int) uint64 {
	if i == 0 {
		return g.base()
	}
	return g.total(i - 1)
}

// first returns the first entry inside the window that ends at now.
func (g slidingLog) first(now, width int64) int {
	n := g.len()
	if n == 0 || g.time(0) > now-width {
		return 0
	}
	return sort.Search(n, func(i int) bool { return g.time(i) > now-width })
}

// used is the tokens of the entries from i on.
func (g slidingLog) used(i int) int64 {
	n := g.len()
	if i >= n {
		return 0
	}
	return int64(g.total(n-1) - g.before(i))
}

// logOf returns the call's log, empty when the key has expired.
func (c *call) logOf() slidingLog {
	if c.isNew {
		return slidingLog(emptyLog[:])
	}
	return slidingLog(c.state)
}

var emptyLog [logHead]byte

func decideLog(c *call) (changed bool) {
	g, width := c.logOf(), c.limit.Rate.Period
	first := g.first(c.now, width)
	used := g.used(first)
	granted, ok := c.grantCounted(used)
	if !ok {
		if c.result.Status == engine.OK && c.result.Wait != engine.NeverWait {
			c.result.Wait = c.logWait(g, first)
		}
		c.reportLog(g, used, false)
		return false
	}
	c.reportLog(g, used+granted, c.op.Options&engine.Force != 0)
	if granted > 0 {
		c.result.Reset = max(c.result.Reset, width) // longer only if the clock went back
	}
	return granted > 0
}

// logWait is the time until enough entries have left the window.
func (c *call) logWait(g slidingLog, first int) int64 {
	n := c.op.Tokens
	if c.op.Options&engine.UpTo != 0 {
		n = 1
	}
	room := c.grantable()
	count := g.len()
	last := g.total(count - 1)
	gone := first + sort.Search(count-first, func(i int) bool { return int64(last-g.total(first+i)) <= room-n })
	return max(1, g.time(gone)+c.limit.Rate.Period-c.now)
}

func (c *call) reportLog(g slidingLog, used int64, showDebt bool) {
	c.reportCount(used, c.limit.Capacity, showDebt)
	if n := g.len(); n > 0 {
		c.result.Reset = max(0, g.time(n-1)+c.limit.Rate.Period-c.now)
	}
}

// needLog is the room for the entries inside the window and one more, doubled as it grows.
func needLog(c *call) int {
	g := c.logOf()
	room := max(g.room(), logMinRoom)
	if live := g.len() - g.first(c.now, c.limit.Rate.Period); live >= room {
		room = max(room, int(min(2*int64(room), c.limit.Capacity)))
	}
	return logHead + room*engine.LogEntry
}

// fullLog is the room for as many entries as the limit allows.
func fullLog(l *limits.Limit) int64 { return logHead + l.Capacity*engine.LogEntry }

// writeLog drops the entries that have left the window and adds the grant.
func writeLog(c *call, state []byte) {
	g := slidingLog(state)
	g.stretch((len(state) - logHead) / engine.LogEntry)
	if first := g.first(c.now, c.limit.Rate.Period); first > 0 {
		g.setBase(g.before(first))
		g.setU32(8, (g.oldest()+first)%g.room())
		g.setU32(12, g.len()-first)
	}
	n, now, granted := g.len(), c.now, uint64(c.result.Granted)
	switch {
	case n == 0:
		g.setBase(0)
		g.setU32(12, 1)
		g.set(0, now, granted)
	case g.time(n-1) >= now: // the same instant, or a clock that went back
		g.set(n-1, g.time(n-1), g.total(n-1)+granted)
	case n == g.room(): // only FORCE gets here: tokens beyond the limit count with the newest entry
		g.set(n-1, now, g.total(n-1)+granted)
	default:
		g.setU32(12, n+1)
		g.set(n, now, g.total(n-1)+granted)
	}
}

// timeOfGrant is the time that writeLog counts a grant at: that of the newest entry if the clock went back.
func (c *call) timeOfGrant() int64 {
	g := c.logOf()
	if n := g.len(); n > 0 {
		return max(c.now, g.time(n-1))
	}
	return c.now
}

// stretch gives a ring more room. Entries that had wrapped to the front move behind the rest. There is room for them,
// because a ring at least doubles or has not wrapped.
func (g slidingLog) stretch(room int) {
	old := g.room()
	if old == room {
		return
	}
	entries := g[logHead:]
	if wrapped := g.oldest() + g.len() - old; wrapped > 0 {
		if old+wrapped <= room {
			copy(entries[old*engine.LogEntry:], entries[:wrapped*engine.LogEntry])
		} else { // less than doubled: move the part at the end to the new end
			tail := old - g.oldest()
			copy(entries[(room-tail)*engine.LogEntry:], entries[g.oldest()*engine.LogEntry:old*engine.LogEntry])
			g.setU32(8, room-tail)
		}
	}
	g.setU32(4, room)
}

func lookLog(c *call) {
	g := c.logOf()
	c.reportLog(g, g.used(g.first(c.now, c.limit.Rate.Period)), c.op.Verb == engine.Look)
}

// refundLog takes tokens off the newest entries.
func refundLog(c *call) {
	g := slidingLog(c.state)
	first := g.first(c.now, c.prev.Rate.Period)
	left := min(c.op.Tokens, g.used(first))
	c.result.Granted = left
	for n := g.len(); left > 0; n = g.len() {
		total, before := g.total(n-1), g.before(n-1)
		if taken := int64(total - before); taken > left {
			g.set(n-1, g.time(n-1), total-uint64(left))
			break
		} else {
			left -= taken
			g.setU32(12, n-1)
		}
	}
	c.reportLog(g, g.used(min(first, g.len())), true)
}

func logExpired(state []byte, l *limits.Limit, now int64) bool {
	g := slidingLog(state)
	n := g.len()
	return n == 0 || g.time(n-1) <= now-l.Rate.Period
}

func validLog(state []byte) bool {
	g := slidingLog(state)
	if len(g) < logHead {
		return false
	}
	room, n := g.room(), g.len()
	if room < 1 || len(g) != logHead+room*engine.LogEntry || g.oldest() >= room || n > room {
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
// with a longer window would count them.
func plainLog(state []byte, _ int64) (plain []byte) { return slidingLog(state).appendPlain(nil, 0) }

// appendPlain appends the time and the tokens of each entry from the given one on.
func (g slidingLog) appendPlain(plain []byte, from int) []byte {
	for i := from; i < g.len(); i++ {
		plain = binary.LittleEndian.AppendUint64(plain, uint64(g.time(i)))
		plain = binary.LittleEndian.AppendUint64(plain, g.total(i)-g.before(i))
	}
	return plain
}

// listLog lists the newest entries inside the window. In one batch it lists no more than MaxListedBytes.
func listLog(c *call) {
	if c.prev.Algorithm != limits.SlidingLog {
		c.wrongType(limits.SlidingLog)
		return
	}
	g := slidingLog(c.state)
	n := min(g.len()-g.first(c.now, c.prev.Rate.Period), int(c.op.Tokens))
	if c.listed += n * grantBytes; c.listed > MaxListedBytes {
		c.result.Status = engine.ListTooLong
		return
	}
	c.result.Reply = g.appendPlain(c.result.Reply[:0], g.len()-n)
	c.result.Work += n
}

// MaxLogLimit is the most that fits a state.
var _ = [1]struct{}{}[(engine.MaxVariableState-logHead)/engine.LogEntry-limits.MaxLogLimit]
