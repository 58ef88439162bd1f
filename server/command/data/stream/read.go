package stream

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var readRows = []command.Row{{
	Name: "xread", Syntax: "[COUNT count] [BLOCK milliseconds] STREAMS key ... id ...", Group: "stream",
	Summary: "The entries of streams after an id each; `$` is the last one. With BLOCK, wait for one if there is none; 0 is no limit.",
	Example: "STREAMS events 0", Since: since, Shape: resp.MapOfPairs,
	Cost: command.ValuePass, Flags: command.ReadOnly | command.Blocking | command.MovableKeys,
	Keys:  command.Keys{After: "STREAMS", Access: command.Reads},
	Parse: parseRead, Data: data.Code(read), Dialect: 2,
}}

// readOptions are the options of XREAD.
type readOptions struct {
	count int64 // 0 is no limit
	block int   // the argument of BLOCK, 0 without it
	keys  int   // the first key
}

// parseReadOptions parses the options before the keys. A script may not block.
func parseReadOptions(args [][]byte, byClient bool) (o readOptions, err error) {
	for at := 1; at < len(args); at++ {
		more := len(args) - at - 1
		switch word := args[at]; {
		case more > 0 && command.IsWord(word, "BLOCK"):
			if !byClient {
				return o, errBlockInScript.With(args[0])
			}
			at++
			if o.block = at; string(args[at]) != asksIDs {
				if _, err := data.ParseMillis(args[at]); err != nil {
					return o, err
				}
			}
		case more > 0 && command.IsWord(word, "COUNT"):
			at++
			count, ok := command.ParseRedisInt(args[at])
			if !ok {
				return o, command.ErrNotInteger
			}
			o.count = max(count, 0)
		case more > 0 && command.IsWord(word, "STREAMS"):
			if o.keys = at + 1; more%2 != 0 {
				return o, errUnbalanced
			}
			return o, nil
		case more > 1 && command.IsWord(word, "GROUP"):
			return o, errGroupOnly.With("GROUP")
		case command.IsWord(word, "NOACK"):
			return o, errGroupOnly.With("NOACK")
		default:
			return o, command.ErrSyntax
		}
	}
	return o, command.ErrSyntax
}

// asksIDs is the argument of BLOCK in an attempt of a client that waits; a client cannot send it. If the attempt finds
// nothing, the null in its reply is followed by the ids for which the client waits: $ is the last entry at the first
// attempt, not at later ones.
const asksIDs = "\x00ids"

// parseRead parses XREAD into one operation.
func parseRead(r *command.Request) error {
	o, err := parseReadOptions(r.Args, true)
	if err != nil {
		return err
	}
	if o.block > 0 {
		timeout, err := data.ParseMillis(r.Args[o.block])
		if err != nil {
			return err
		}
		keys := (len(r.Args) - o.keys) / 2
		if keys > data.MaxWaitKeys {
			return data.ErrManyWaitKeys.With(data.MaxWaitKeys, keys)
		}
		r.Wait = &command.Wait{From: o.keys, Keys: keys, Kind: engine.StreamKind, Timeout: timeout, Attempt: attempt}
	}
	return data.ParseOp(r, command.LookUp(r.Args[0]))
}

// attempt is [command.Wait.Attempt].
func attempt(args [][]byte, missed []byte) [][]byte {
	args = slices.Clone(args)
	o, err := parseReadOptions(args, true)
	if err != nil {
		return args
	}
	args[o.block] = []byte(asksIDs)
	if _, ids, found := bytes.Cut(missed, []byte(" ")); found {
		copy(args[(o.keys+len(args))/2:], bytes.Fields(ids))
	}
	return args
}

// read replies with the entries after the ids. It does not wait: see package data.
func read(c *data.Call) {
	o, err := parseReadOptions(c.Args, c.ByClient())
	if err != nil {
		c.Fail(err)
		return
	}
	words := c.Args[o.keys:]
	n := len(words) / 2
	after := make([]datatype.StreamID, n)
	with := 0
	for i := range n {
		s, _, ok := open(c, words[i])
		if !ok {
			return
		}
		if after[i], ok = s.readAfter(words[n+i]); !ok {
			return
		}
		if s.after(after[i]) < s.len() {
			with++
		}
	}
	if with == 0 {
		c.Writer.NullArray()
		if o.block > 0 && string(c.Args[o.block]) == asksIDs {
			for _, id := range after {
				c.Writer.Buf = appendID(append(c.Writer.Buf, ' '), id)
			}
		}
		return
	}
	c.Writer.Array(with)
	for i, key := range words[:n] {
		s, _, _ := open(c, key)
		from, to := s.after(after[i]), s.len()
		if from == to {
			continue
		}
		if o.count > 0 {
			to = from + int(min(o.count, int64(to-from)))
		}
		c.Writer.Array(2)
		c.Writer.Bulk(key)
		s.write(from, to, false)
	}
}

// readAfter parses an id after which entries are asked for, and writes the error.
func (s *stream) readAfter(text []byte) (id datatype.StreamID, ok bool) {
	switch string(text) {
	case "$":
		return s.head.Last, true
	case ">":
		s.call.Fail(errGroupID)
		return id, false
	}
	return readID(s.call, text)
}

// after returns the place of the first entry after an id.
func (s *stream) after(id datatype.StreamID) (place int) {
	place, found := s.place(id)
	if found {
		place++
	}
	return place
}
