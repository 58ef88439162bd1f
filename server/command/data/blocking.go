package data

import (
	"math"
	"math/big"

	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Commands that wait for an element. Their Data is an attempt that does not wait: null says that there is nothing, and within MULTI that is the
// reply. Otherwise the connection attempts again once a key has changed.

const untilTimeout = " Wait for one if there is none, at most for timeout seconds; 0 is for ever."

var blockingListRows = []command.Row{{
	Name: "blpop", Syntax: "key ... timeout", Group: "list", Summary: "Remove an element at the head of the first list that has one." + untilTimeout,
	Example: "log 1", Cost: command.ValuePass, Flags: command.Write | command.Blocking | command.NotInScripts, Keys: waitedKeys, Waits: limits.ListValue,
	Data: code(func(c *Call) { popFirst(c, head) }),
}, {
	Name: "brpop", Syntax: "key ... timeout", Group: "list", Summary: "Remove an element at the tail of the first list that has one." + untilTimeout,
	Example: "log 1", Cost: command.ValuePass, Flags: command.Write | command.Blocking | command.NotInScripts, Keys: waitedKeys, Waits: limits.ListValue,
	Data: code(func(c *Call) { popFirst(c, tail) }),
}, {
	Name: "blmove", Syntax: "key destination from to timeout", Group: "list",
	Summary: "Move an element from one end of a list to an end of another list, or of the same." + untilTimeout,
	Example: "log other LEFT RIGHT 1", Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Blocking | command.NotInScripts, Keys: command.MovedKey, Waits: limits.ListValue,
	Data: code(moveBetweenEnds),
}, {
	Name: "brpoplpush", Syntax: "key destination timeout", Group: "list",
	Summary: "Move the element at the tail of a list to the head of another list, or of the same." + untilTimeout,
	Example: "log other 1", Cost: command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Blocking | command.NotInScripts, Keys: command.MovedKey, Waits: limits.ListValue,
	Data: code(func(c *Call) { moveElement(c, tail, head) }),
}}

var blockingSortedSetRows = []command.Row{{
	Name: "bzpopmin", Syntax: "key ... timeout", Group: "sorted-set",
	Summary: "Remove the member with the lowest score of the first sorted set that has one." + untilTimeout,
	Example: "hits 1", Cost: command.ValuePass, Flags: command.Write | command.Fast | command.Blocking | command.NotInScripts, Keys: waitedKeys, Waits: limits.SortedSetValue, Shape: resp.KeyScored,
	Data: code(func(c *Call) { popFirstMember(c, lowest) }),
}, {
	Name: "bzpopmax", Syntax: "key ... timeout", Group: "sorted-set",
	Summary: "Remove the member with the highest score of the first sorted set that has one." + untilTimeout,
	Example: "hits 1", Cost: command.ValuePass, Flags: command.Write | command.Fast | command.Blocking | command.NotInScripts, Keys: waitedKeys, Waits: limits.SortedSetValue, Shape: resp.KeyScored,
	Data: code(func(c *Call) { popFirstMember(c, highest) }),
}}

// waitedKeys are the keys of a command that waits for any of them; behind them is the timeout.
var waitedKeys = command.Keys{First: 1, Last: -2, Access: command.Reads | command.Changes}

// MaxWaitKeys bounds the keys that one command waits for.
const MaxWaitKeys = 1000

// waitOp makes one operation of a data command that waits.
func waitOp(r *command.Request, row *command.Row) error {
	keys := 1
	if row.Keys == waitedKeys {
		keys = len(r.Args) - 2
	}
	if row.Name == "blmove" && !areEnds(r.Args[3], r.Args[4]) { // this comes before the timeout in Redis
		return command.ErrSyntax
	}
	timeout, err := parseTimeout(r.Args[len(r.Args)-1])
	switch {
	case err != nil:
		return err
	case keys > MaxWaitKeys:
		return errManyWaitKeys.With(MaxWaitKeys, keys)
	}
	r.Wait = &command.Wait{Keys: keys, Kind: row.Waits, Timeout: timeout}
	return dataOp(r, row)
}

// parseTimeout reads seconds, which Redis rounds up to milliseconds.
func parseTimeout(b []byte) (nanos int64, err error) {
	var f big.Float
	if !parseLongDouble(b, f.SetPrec(longDoubleBits)) {
		return 0, errTimeout
	}
	var ms big.Float
	ms.SetPrec(longDoubleBits).Mul(&f, big.NewFloat(1000))
	whole, rounded := ms.Int64() // towards zero
	switch {
	case rounded == big.Below && whole == math.MaxInt64:
		return 0, errTimeoutRange
	case rounded == big.Below:
		whole++
	case whole < 0:
		return 0, command.ErrTimeoutNegative
	}
	return min(whole, math.MaxInt64/1_000_000) * 1_000_000, nil
}

// areEnds reports whether two words name ends of a list.
func areEnds(from, to []byte) bool {
	_, ok1 := endOf(from)
	_, ok2 := endOf(to)
	return ok1 && ok2
}

func popFirst(c *Call, end listEnd) {
	for _, key := range c.Args[1 : len(c.Args)-1] {
		v, found, ok := c.get(key, limits.ListValue)
		if !ok {
			return
		}
		if found {
			c.Writer.Array(2)
			c.Writer.Bulk(key)
			c.Writer.Bulk(datatype.List(v.Data).At(end.first(v.Data, 1)))
			dropElements(c, key, v, end, 1)
			return
		}
	}
	c.Writer.NullArray()
}

func popFirstMember(c *Call, end setEnd) {
	for _, key := range c.Args[1 : len(c.Args)-1] {
		s, ok := c.sortedSet(key)
		if !ok {
			return
		}
		if n := s.Len(); n > 0 {
			place := 0
			if end == highest {
				place = n - 1
			}
			c.Writer.Array(3)
			c.Writer.Bulk(key)
			c.Writer.Bulk(s.Member(place))
			c.score(s.Score(place))
			dropPlaces(c, key, place, place+1)
			return
		}
	}
	c.Writer.NullArray()
}
