package stream

import (
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// bound says which entries of a stream are to be removed. [Approximate trimming] of Redis removes whole nodes of its
// tree, and so leaves some entries more. Here it is exact, which costs no more.
//
// [Approximate trimming]: https://redis.io/docs/latest/commands/xtrim/
type bound struct {
	by    boundBy
	most  int64             // the number of entries that stay, of byLength
	first datatype.StreamID // entries before it are removed, of byID
	limit int64             // the number of entries that are removed at most, 0 for all
}

// boundBy is what a bound is about.
type boundBy uint8

const (
	unbounded boundBy = iota
	byLength
	byID
)

// addOptions are the options of XADD and XTRIM.
type addOptions struct {
	bound
	isThere bool // only a stream that exists is added to
	approx  bool
	limits  bool // LIMIT is given

	id   datatype.StreamID // of the new entry, for XADD
	auto automatic
}

// readAddOptions parses the options that follow the key, and writes the error. at is the first argument that is none of
// them, from which on XADD has the id and the fields.
func readAddOptions(c *data.Call, adds bool) (o addOptions, at int, ok bool) {
	for at = 2; at < len(c.Args); at++ {
		word, more := c.Args[at], len(c.Args)-at-1
		switch {
		case more > 0 && command.IsWord(word, "MAXLEN"), more > 0 && command.IsWord(word, "MINID"):
			if at, ok = o.readBound(c, at); !ok {
				return o, at, false
			}
		case more > 0 && command.IsWord(word, "LIMIT"):
			at++
			if o.limit, ok = c.Integer(c.Args[at]); !ok {
				return o, at, false
			}
			if o.limits = true; o.limit < 0 {
				c.Fail(errLimit)
				return o, at, false
			}
		case adds && command.IsWord(word, "NOMKSTREAM"):
			o.isThere = true
		case adds:
			if o.id, o.auto, ok = readNewID(c, word); !ok { // before the options are checked together, as in Redis
				return o, at, false
			}
			return o, at, o.check(c)
		default:
			c.Fail(command.ErrSyntax)
			return o, at, false
		}
	}
	return o, at, o.check(c)
}

// readBound parses MAXLEN or MINID, and returns its last argument.
func (o *addOptions) readBound(c *data.Call, at int) (last int, ok bool) {
	if o.by != unbounded {
		c.Fail(errTwoBounds)
		return at, false
	}
	o.by, o.approx = byLength, false
	if command.IsWord(c.Args[at], "MINID") {
		o.by = byID
	}
	if at++; at+1 < len(c.Args) && (string(c.Args[at]) == "~" || string(c.Args[at]) == "=") {
		o.approx = c.Args[at][0] == '~'
		at++
	}
	if o.by == byID {
		o.first, ok = readID(c, c.Args[at])
		return at, ok
	}
	if o.most, ok = c.Integer(c.Args[at]); ok && o.most < 0 {
		c.Fail(errNegativeMost)
		return at, false
	}
	return at, ok
}

// check checks the options together, and writes the error.
func (o *addOptions) check(c *data.Call) (ok bool) {
	switch {
	case o.limit > 0 && o.by == unbounded:
		c.Fail(errLimitAlone)
	case o.limits && !o.approx:
		c.Fail(errLimitExact)
	default:
		return true
	}
	return false
}

// excess is the number of entries that are to be removed at the front of a stream.
func (b *bound) excess(s *stream) (n int) {
	switch b.by {
	case byLength:
		n = int(max(int64(s.len())-b.most, 0))
	case byID:
		n, _ = s.place(b.first)
	}
	if b.limit > 0 {
		n = int(min(int64(n), b.limit))
	}
	return n
}

func trim(c *data.Call) {
	o, _, ok := readAddOptions(c, false)
	if !ok {
		return
	}
	if o.by == unbounded {
		c.Fail(errNoBound)
		return
	}
	s, found, ok := open(c, c.Args[1])
	if !ok {
		return
	}
	n := 0
	if found {
		if n = o.excess(&s); n > 0 && s.edit(0) {
			s.remove(0, n)
			s.keep()
		}
	}
	c.Writer.Int(int64(n))
}
