package zset

import (
	"bytes"
	"strings"

	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// rangeBy is what a range is about.
type rangeBy uint8

const (
	byPlace rangeBy = iota
	byScore
	byMember
)

// rangeOptions are the options of ZRANGE and similar commands.
type rangeOptions struct {
	by            rangeBy
	reverse       bool
	scores        bool
	offset, count int64 // a negative count is no limit
}

// readRangeOptions parses the options after a range. choose permits BYSCORE, BYLEX and REV, which only ZRANGE has.
func readRangeOptions(c *data.Call, o rangeOptions, choose bool) (_ rangeOptions, ok bool) {
	o.count = -1
	chooseBy := choose
	for at := 4; at < len(c.Args); at++ {
		arg := c.Args[at]
		switch {
		case command.IsWord(arg, "WITHSCORES"):
			o.scores = true
		case command.IsWord(arg, "LIMIT") && at+2 < len(c.Args):
			if o.offset, o.count, ok = c.Integers(c.Args[at+1], c.Args[at+2]); !ok {
				return o, false
			}
			at += 2
		case command.IsWord(arg, "REV") && choose && !o.reverse:
			o.reverse = true
		case command.IsWord(arg, "BYLEX") && chooseBy:
			o.by, chooseBy = byMember, false
		case command.IsWord(arg, "BYSCORE") && chooseBy:
			o.by, chooseBy = byScore, false
		default:
			c.Fail(command.ErrSyntax)
			return o, false
		}
	}
	switch {
	case o.count != -1 && o.by == byPlace:
		c.Fail(errRangeLimit)
	case o.scores && o.by == byMember:
		c.Fail(errRangeScores)
	default:
		return o, true
	}
	return o, false
}

// visits returns [command.Row.Visits] of a command that lists a range.
func visits(by rangeBy) func(args [][]byte, held int) int {
	return func(args [][]byte, held int) int {
		by, count := by, int64(held)
		for at := 4; at < len(args); at++ {
			switch {
			case command.IsWord(args[at], "BYSCORE"):
				by = byScore
			case command.IsWord(args[at], "BYLEX"):
				return held
			case command.IsWord(args[at], "LIMIT") && at+2 < len(args):
				if n, ok := command.ParseRedisInt(args[at+2]); ok && n >= 0 {
					count = min(count, n)
				}
			}
		}
		if by == byPlace {
			return data.VisitedPlaces(args, held)
		}
		return int(count)
	}
}

func listMembers(c *data.Call, o rangeOptions, choose bool) {
	o, ok := readRangeOptions(c, o, choose)
	if !ok {
		return
	}
	least, most := c.Args[2], c.Args[3]
	if o.reverse && o.by != byPlace {
		least, most = most, least
	}
	var start, stop int64
	var within memberRange
	switch o.by {
	case byPlace:
		start, stop, ok = c.Integers(least, most)
	case byScore:
		within, ok = readScoreRange(c, least, most)
	case byMember:
		within, ok = readLexRange(c, least, most)
	}
	if !ok {
		return
	}
	if s := largeSet(c); s != nil {
		from, to := data.Places(start, stop, s.Len())
		if o.by != byPlace {
			from, to, ok = within.placesIn(s)
		}
		if ok {
			listLarge(c, s, from, to, o)
			return
		}
	}
	s, ok := readSortedSet(c, c.Args[1])
	if !ok {
		return
	}
	first, n := 0, 0
	if o.by == byPlace {
		from, to := data.Places(start, stop, s.Len())
		if first, n = from, to-from; o.reverse {
			first = s.Len() - 1 - from
		}
	} else {
		if o.by == byMember {
			c.Tx.Spend(s.Len() * command.WalkWork)
		}
		first, n = o.window(s, within)
	}
	writeMembers(c, s, first, o.step(), n, o.scores)
}

func (o *rangeOptions) step() int {
	if o.reverse {
		return -1
	}
	return 1
}

// window returns the place of the first member of a range, in the direction of the options and after their offset, and
// the number of members from there on.
func (o *rangeOptions) window(s datatype.SortedSet, within memberRange) (first, n int) {
	size := s.Len()
	if size == 0 || o.offset < 0 || o.offset >= int64(size) {
		return 0, 0
	}
	first, begun, in := within.first(s), within.begun, within.notOver
	if o.reverse {
		first, begun, in = within.last(s), within.notOver, within.begun
	}
	for ; first >= 0 && first < size && !begun(s, first); first += o.step() {
	}
	if first < 0 || first >= size || !in(s, first) {
		return 0, 0
	}
	first += o.step() * int(o.offset)
	for at := first; at >= 0 && at < size && in(s, at) && int64(n) != o.count; at += o.step() {
		n++
	}
	return first, n
}

// writeMembers replies with n members of a set, starting at a place.
func writeMembers(c *data.Call, s datatype.SortedSet, place, step, n int, scores bool) {
	c.Tx.Spend(n * command.WriteWork)
	if scores {
		c.Tx.Spend(n * command.WriteWork)
		c.Writer.Array(2 * n)
	} else {
		c.Writer.Array(n)
	}
	for range n {
		c.Writer.Bulk(s.Member(place))
		if scores {
			writeScore(c, s.Score(place))
		}
		place += step
	}
}

// memberRange is a range of members, of their scores or of their bytes.
type memberRange interface {
	begun(s datatype.SortedSet, place int) bool   // the member is not before the range
	notOver(s datatype.SortedSet, place int) bool // the member is not after the range
	first(s datatype.SortedSet) int               // no member before this place is in the range
	last(s datatype.SortedSet) int                // no member after this place is in the range

	// placesIn returns the places from (included) and to (not included) of a range of a set in blocks, and false if all
	// members have to be looked at.
	placesIn(s *large.Value) (from, to int, ok bool)
}

// scoreRange is a range of scores.
type scoreRange struct{ min, max scoreEnd }

// scoreEnd is an end of a range: a score, which is not part of the range if it is open.
type scoreEnd struct {
	score float64
	open  bool
}

func (r scoreRange) begun(s datatype.SortedSet, place int) bool {
	score := s.Score(place)
	return score > r.min.score || score == r.min.score && !r.min.open
}

func (r scoreRange) notOver(s datatype.SortedSet, place int) bool {
	score := s.Score(place)
	return score < r.max.score || score == r.max.score && !r.max.open
}

func (r scoreRange) first(s datatype.SortedSet) int { return s.Below(r.min.score, r.min.open) }

func (r scoreRange) last(s datatype.SortedSet) int { return s.Below(r.max.score, !r.max.open) - 1 }

// places returns the places from (included) and to (not included) of the range.
func (r scoreRange) places(s datatype.SortedSet) (from, to int) {
	if from, to = r.first(s), r.last(s)+1; from > to {
		return 0, 0
	}
	return from, to
}

// readScoreRange parses a range of scores, and writes the error.
func readScoreRange(c *data.Call, least, most []byte) (r scoreRange, ok bool) {
	low, ok1 := readScoreEnd(least)
	high, ok2 := readScoreEnd(most)
	if !ok1 || !ok2 {
		c.Fail(errScoreRange)
		return r, false
	}
	return scoreRange{low, high}, true
}

// readScoreEnd parses an end of a range as Redis does: up to a zero byte, with leading blanks allowed, and "" is 0.
func readScoreEnd(b []byte) (e scoreEnd, ok bool) {
	text, _, _ := strings.Cut(string(b), "\x00")
	if e.open = strings.HasPrefix(text, "("); e.open {
		text = text[1:]
	}
	if text == "" {
		return e, true
	}
	e.score, _, ok = data.ParseDouble(strings.TrimLeft(text, " \t\n\v\f\r"))
	return e, ok
}

// lexRange is a range of bytes. It makes sense only if all scores are equal. Otherwise the result is what Redis returns
// for small sets.
type lexRange struct{ min, max lexEnd }

// lexEnd is an end of a range: a member, which is not part of the range if it is open, or beyond all members.
type lexEnd struct {
	member []byte
	open   bool
	beyond int // -1 before all members, 1 after all members
}

// compare compares a member with an end.
func (e *lexEnd) compare(member []byte) int {
	if e.beyond != 0 {
		return -e.beyond
	}
	return bytes.Compare(member, e.member)
}

func (r *lexRange) begun(s datatype.SortedSet, place int) bool {
	order := r.min.compare(s.Member(place))
	return order > 0 || order == 0 && !r.min.open
}

func (r *lexRange) notOver(s datatype.SortedSet, place int) bool {
	order := r.max.compare(s.Member(place))
	return order < 0 || order == 0 && !r.max.open
}

func (r *lexRange) placesIn(s *large.Value) (from, to int, ok bool) {
	_, least := s.Scored(0)
	if _, most := s.Scored(s.Len() - 1); least != most {
		return 0, 0, false
	}
	if from, to = r.min.placeIn(s, least, r.min.open), r.max.placeIn(s, least, !r.max.open); from > to {
		from, to = 0, 0
	}
	return from, to, true
}

// placeIn returns the number of members of a set in blocks that are before the end of a range, or with orEqual at it.
// All members have the same score.
func (e *lexEnd) placeIn(s *large.Value, score float64, orEqual bool) int {
	switch e.beyond {
	case -1:
		return 0
	case 1:
		return s.Len()
	}
	place, found := s.PlaceOf(score, e.member)
	if found && orEqual {
		place++
	}
	return place
}

func (r *lexRange) first(datatype.SortedSet) int { return 0 }

func (r *lexRange) last(s datatype.SortedSet) int { return s.Len() - 1 }

// readLexRange parses a range of bytes, and writes the error.
func readLexRange(c *data.Call, least, most []byte) (r *lexRange, ok bool) {
	low, ok1 := readLexEnd(least)
	high, ok2 := readLexEnd(most)
	if !ok1 || !ok2 {
		c.Fail(errMemberRange)
		return nil, false
	}
	return &lexRange{low, high}, true
}

func readLexEnd(b []byte) (e lexEnd, ok bool) {
	if len(b) == 0 {
		return e, false
	}
	whole := len(b) == 1 || b[1] == 0
	switch b[0] {
	case '-':
		return lexEnd{beyond: -1}, whole
	case '+':
		return lexEnd{beyond: 1}, whole
	case '(':
		return lexEnd{member: b[1:], open: true}, true
	case '[':
		return lexEnd{member: b[1:]}, true
	}
	return e, false
}
