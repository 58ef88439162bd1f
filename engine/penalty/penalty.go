// Package penalty has the state of a penalty, which bans whoever the other limits of its requests deny too often.
package penalty

import (
	"encoding/binary"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// state is what a penalty knows of its caller.
//
//	offset  size  field
//	0       8     end of the last ban, nanoseconds since the Unix epoch; 0 if there was none
//	8       8     length of that ban
//	16      8     the first denial that counts now
//	24      8     number of denials since, 0 during a ban
//	32      8     the request that was counted last, 0 if it had no id
type state struct{ until, length, since, denials, request int64 }

// Bytes is the size of a state in bytes, of which zeros are a new one. UntilAt and SinceAt are where its times are.
const (
	Bytes   = 40
	UntilAt = 0
	SinceAt = 16
)

func load(b []byte) state {
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	return state{at(0), at(1), at(2), at(3), at(4)}
}

// loadUnder reads a state under a limit, perhaps another than before: no ban is longer than the limit's longest.
func loadUnder(b []byte, l *limits.Limit, now int64) state {
	p := load(b)
	if over := p.length - l.LongestBan; over > 0 {
		p.until, p.length = p.until-over, l.LongestBan
	}
	if now-p.since >= l.Rate.Period {
		p.since, p.denials, p.request = 0, 0, 0
	}
	return p
}

// Decide answers an Acquire, which is denied during a ban. It never changes the state.
func Decide(b []byte, l *limits.Limit, now int64, res *engine.Result) (changed bool) {
	p := loadUnder(b, l, now)
	res.Wait = p.report(l, now, res)
	res.Allowed = res.Wait == 0
	return false
}

// Look reports a state.
func Look(b []byte, l *limits.Limit, now int64, res *engine.Result) {
	p := loadUnder(b, l, now)
	p.report(l, now, res)
}

// Detail appends the denials that count, and the length of the last ban, to a Look.
func Detail(b []byte, l *limits.Limit, now int64, res *engine.Result) {
	p := loadUnder(b, l, now)
	res.AddDetail("counted", strconv.FormatInt(p.denials, 10))
	if p.length > 0 {
		res.AddDetail("last_ban", limits.FormatDuration(p.length))
	}
}

// Count counts a denial by other limits in a state without a ban, and writes the next state. The last denial that the
// limit permits begins a ban: it returns the ban's length, 0 if there is none. A request other than 0 that was counted
// last is not counted again: its caller may have missed the reply.
func Count(next, b []byte, l *limits.Limit, now, request int64, res *engine.Result) (banned int64, counted bool) {
	p := loadUnder(b, l, now)
	if request != 0 && request == p.request {
		return 0, false
	}
	p.request = request
	if p.denials++; p.denials == 1 {
		p.since = now
	}
	if p.denials >= l.Capacity {
		length := l.Ban
		if p.until > 0 && now < p.until+p.remembered(l) {
			length = max(length, min(2*p.length, l.LongestBan))
		}
		p = state{until: now + length, length: length}
	}
	for i, n := range [...]int64{p.until, p.length, p.since, p.denials, p.request} {
		binary.LittleEndian.PutUint64(next[8*i:], uint64(n))
	}
	return p.report(l, now, res), true
}

// report answers with the time until no denial counts any more, of a ban until its end. All remains until a ban, because
// callers take the limit with the least left for the number of their requests. It returns the rest of a ban, 0 if there
// is none.
func (p *state) report(l *limits.Limit, now int64, res *engine.Result) (banned int64) {
	res.Limit, res.Remaining = l.Capacity, l.Capacity
	if banned = max(0, p.until-now); banned > 0 {
		res.Remaining, res.Reset = 0, banned
	} else if p.denials > 0 {
		res.Reset = p.since + l.Rate.Period - now
	}
	return banned
}

// remembered is how long a ban is remembered after its end, to make the next one longer.
func (p *state) remembered(l *limits.Limit) int64 {
	if l.LongestBan == l.Ban {
		return 0
	}
	return max(p.length, l.Rate.Period)
}

// Expired reports whether a state counts no longer: no denial counts, and no ban is remembered.
func Expired(b []byte, l *limits.Limit, now int64) bool {
	p := load(b)
	return (p.until == 0 || p.until+p.remembered(l) <= now) && (p.denials == 0 || now-p.since >= l.Rate.Period)
}
