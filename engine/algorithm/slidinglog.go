package algorithm

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

const (
	logMinRoom = 4

	// grantBytes is about the size of a grant in the reply to a client.
	grantBytes = 32
)

// logOf returns the call's log, empty when the key has expired.
func logOf(c *Call) layout.SlidingLog {
	if c.IsNew {
		return layout.SlidingLog(emptyLog[:])
	}
	return layout.SlidingLog(c.State)
}

var emptyLog [layout.LogHead]byte

func decideLog(c *Call) (changed bool) {
	g, width := logOf(c), c.Limit.Rate.Period
	first := g.First(c.Now, width)
	used := g.Used(first)
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
func logWait(c *Call, g layout.SlidingLog, first int) int64 {
	gone := g.LastToLeave(first, c.grantable()-c.leastAsked())
	return max(1, g.Time(gone)+c.Limit.Rate.Period-c.Now)
}

func reportLog(c *Call, g layout.SlidingLog, used int64, showDebt bool) {
	reportCount(c, used, c.Limit.Capacity, showDebt)
	if n := g.Len(); n > 0 {
		c.Result.Reset = max(0, g.Time(n-1)+c.Limit.Rate.Period-c.Now)
	}
}

// needLog is the room for the entries inside the window and one more, doubled as it grows.
func needLog(c *Call) int {
	g := logOf(c)
	room := max(g.Room(), logMinRoom)
	if live := g.Len() - g.First(c.Now, c.Limit.Rate.Period); live >= room {
		room = max(room, int(min(2*int64(room), c.Limit.Capacity)))
	}
	return layout.LogHead + room*engine.LogEntry
}

// FullLog is the room for as many entries as the limit allows.
func FullLog(l *limits.Limit) int64 { return layout.LogHead + l.Capacity*engine.LogEntry }

// writeLog drops the entries that have left the window and adds the grant.
func writeLog(c *Call, state []byte) {
	g := layout.SlidingLog(state)
	g.Stretch((len(state) - layout.LogHead) / engine.LogEntry)
	g.Drop(g.First(c.Now, c.Limit.Rate.Period))
	g.Add(c.Now, uint64(c.Result.Granted))
}

// timeOfGrant is the time that writeLog counts a grant at: the time of the newest entry if the clock went back.
func timeOfGrant(c *Call) int64 {
	g := logOf(c)
	if n := g.Len(); n > 0 {
		return max(c.Now, g.Time(n-1))
	}
	return c.Now
}

func lookLog(c *Call) {
	g := logOf(c)
	reportLog(c, g, g.Used(g.First(c.Now, c.Limit.Rate.Period)), c.Op.Verb == engine.Look)
}

// refundLog takes tokens off the newest entries.
func refundLog(c *Call) {
	g := layout.SlidingLog(c.State)
	first := g.First(c.Now, c.Prev.Rate.Period)
	c.Result.Granted = min(c.Op.Tokens, g.Used(first))
	g.TakeNewest(c.Result.Granted)
	reportLog(c, g, g.Used(min(first, g.Len())), true)
}

// unreserveLog takes tokens off the entry of one time.
func unreserveLog(c *Call, time int64) {
	g := layout.SlidingLog(c.State)
	c.Result.Granted = g.TakeAt(g.First(c.Now, c.Prev.Rate.Period), time, c.Op.Tokens)
}

func usedOfLog(state []byte, l *limits.Limit, now int64) int64 {
	g := layout.SlidingLog(state)
	return g.Used(g.First(now, l.Rate.Period))
}

func logExpired(state []byte, l *limits.Limit, now int64) bool {
	g := layout.SlidingLog(state)
	n := g.Len()
	return n == 0 || g.Time(n-1) <= now-l.Rate.Period
}

func validLog(state []byte) bool { return layout.SlidingLog(state).IsValid() }

// plainLog lists times and tokens. Entries that have left the window are included while they are in the ring: a limit
// with a longer window would count them. In front of them is whether the limiter has warned.
func plainLog(state []byte, _ int64) (plain []byte) {
	if state[layout.LogWarnedAt]&layout.WarnedBit != 0 {
		plain = append(plain, 1)
	}
	return layout.SlidingLog(state).AppendPlain(plain, 0)
}

// listLog lists the newest entries inside the window. In one batch it lists no more than engine.MaxListedBytes.
func listLog(c *Call) {
	if c.Prev.Algorithm != limits.SlidingLog {
		c.WrongType(limits.SlidingLog)
		return
	}
	g := layout.SlidingLog(c.State)
	n := min(g.Len()-g.First(c.Now, c.Prev.Rate.Period), int(c.Op.Tokens))
	if c.Listed += n * grantBytes; c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	c.Result.Reply = g.AppendPlain(c.Result.Reply[:0], g.Len()-n)
	c.Result.Work += n
}

// MaxLogLimit is the most that fits a state.
var _ = [1]struct{}{}[(engine.MaxVariableState-layout.LogHead)/engine.LogEntry-limits.MaxLogLimit]
