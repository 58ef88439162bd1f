package data

import (
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/digits"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Call is a data command being carried out: its arguments, the keys of the store, and the RESP2 reply. It has no other
// input, because every node of a cluster carries it out and must come to the same result.
type Call struct {
	Tx     *transaction.Tx
	Args   [][]byte // including the name
	Writer resp.Writer

	op       *engine.Op // nil if a script makes the call
	executor *Executor
	reads    bool          // the command is read-only
	script   *scriptCaller // reused by later calls
	last     *command.Row  // of the operation that was carried out last
	digits   [20]byte      // buffer for a number
}

// ParseOp parses a data command into one operation.
func ParseOp(r *command.Request, row *command.Row) error {
	keys, args := row.Keys.Of(r.Args), r.KeepArgs(r.Args)
	switch { // the keys of an operation are next to each other
	case row.Keys.Pairs:
		keys.To = keys.From + keysFirst(args[keys.From:])
	case row.Keys.First > 0 && row.Keys.Number > 0:
		args[row.Keys.First], args[row.Keys.Number] = args[row.Keys.Number], args[row.Keys.First]
		if keys.First > 0 {
			keys.From--
		}
	}
	for _, key := range args[keys.From:keys.To] {
		if err := r.Key(key); err != nil {
			return err
		}
	}
	op := r.AddOp(engine.Command)
	op.Args, op.KeyFrom, op.KeyCount, op.Database = args, uint32(keys.From), uint32(keys.To-keys.From), r.Database
	if row.Flags&command.Write == 0 {
		op.Options = engine.Peek
	}
	r.Shape = shapeOf(row, r.Args)
	return nil
}

// shapeOf returns the shape of the reply to a command.
func shapeOf(row *command.Row, args [][]byte) resp.Shape {
	switch {
	case row.ShapeOf != nil:
		return row.ShapeOf(args)
	case row.Shape == resp.Scored && !HasWord(args[row.Keys.Of(args).To:], "WITHSCORES"):
		return resp.Same
	}
	return row.Shape
}

// keysFirst reorders pairs of keys and values so that all keys come first, and returns the number of keys.
func keysFirst(pairs [][]byte) (keys int) {
	values := make([][]byte, 0, len(pairs)/2)
	for i, word := range pairs {
		if i%2 == 1 {
			values = append(values, word)
			continue
		}
		pairs[keys] = word
		keys++
	}
	copy(pairs[keys:], values)
	return keys
}

// ReplyData writes the reply of a data command.
func ReplyData(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if command.WriteFailure(w, res) {
		return
	}
	if !w.RESP3 {
		w.Buf = append(w.Buf, res.Reply...)
		return
	}
	w.FromRESP2(res.Reply, w.Shape)
}

// HasWord reports whether a word is among arguments, in lower or upper case.
func HasWord(args [][]byte, word string) bool {
	for _, a := range args {
		if command.IsWord(a, word) {
			return true
		}
	}
	return false
}

// Name is the command's name in lower case, as errors show it.
func (c *Call) Name() string { return strings.ToLower(string(c.Args[0])) }

// Fail writes an error.
func (c *Call) Fail(err error) { c.Writer.Error(err.Error()) }

// Get returns the value of a key. If the value is of another kind, Get writes the error and returns ok = false.
func (c *Call) Get(key []byte, kind engine.Kind) (v engine.Value, found, ok bool) {
	v, found = c.Tx.Get(key)
	c.noteLookup(found)
	if found && v.Kind != kind {
		c.Fail(command.ErrDataType)
		return engine.Value{}, found, false
	}
	return v, found, true
}

// noteLookup counts a key of a read-only command that was found, or not.
func (c *Call) noteLookup(found bool) {
	if c.reads && c.executor.Lookups != nil {
		c.executor.Lookups.Note(found)
	}
}

// Fits reports whether a value of a kind and of this many bytes can be stored, and writes the error if not.
func (c *Call) Fits(kind engine.Kind, bytes int) bool {
	if most := transaction.MostBytes(c.Tx, kind); bytes > most {
		c.Fail(errValueTooBig.With(most, bytes))
		return false
	}
	return true
}

// FailTooBig replaces what was written since start by the error that the reply is too big.
func (c *Call) FailTooBig(start int) {
	c.Writer.Buf = c.Writer.Buf[:start]
	c.Fail(ErrReplyTooBig.With(MaxRepeatedBytes))
}

// Integer parses an argument as Redis parses integers: no '+', no leading zeros, no blanks. It writes the error.
func (c *Call) Integer(arg []byte) (n int64, ok bool) {
	if n, ok = command.ParseRedisInt(arg); !ok {
		c.Fail(command.ErrNotInteger)
	}
	return n, ok
}

// Positive reads a number that must not be negative.
func (c *Call) Positive(arg []byte) (n int64, ok bool) { return c.AtLeast(arg, errNotPositive) }

// AtLeast parses a number of at least 0, and writes err if it is anything else.
func (c *Call) AtLeast(arg []byte, err error) (n int64, ok bool) {
	if n, ok = command.ParseRedisInt(arg); !ok || n < 0 {
		c.Fail(err)
		return 0, false
	}
	return n, true
}

// AddInts adds two numbers. If one of them is not 0, ok reports whether the sum fits in 64 bits.
func AddInts(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}

// FormatInt formats a number in a buffer that the next call of FormatInt overwrites.
func (c *Call) FormatInt(n int64) []byte { return digits.Append(c.digits[:0], n) }

// BulkInt writes a number as a bulk string.
func (c *Call) BulkInt(n int64) { c.Writer.Bulk(c.FormatInt(n)) }

// ByClient reports whether a client made the call, not a script. [ParseOp] reorders the arguments of a client's call.
func (c *Call) ByClient() bool { return c.op != nil }

// Databases is the number of databases, 0 in a cluster, which has one.
func (c *Call) Databases() int { return c.executor.Databases }

// MayReplace reports whether a key may be overwritten: it must not hold a limiter. If it does, MayReplace writes the
// error.
func (c *Call) MayReplace(key []byte) bool {
	if v, found := c.Look(key); found && !v.Kind.IsData() {
		c.Fail(command.ErrDataType)
		return false
	}
	return true
}

// BulkOrNull replies with b, or with null if it was not found.
func (c *Call) BulkOrNull(b []byte, found bool) {
	if found {
		c.Writer.Bulk(b)
	} else {
		c.Writer.Null()
	}
}

// Integers parses two integers, and writes the error.
func (c *Call) Integers(first, second []byte) (a, b int64, ok bool) {
	if a, ok = c.Integer(first); ok {
		b, ok = c.Integer(second)
	}
	return a, b, ok
}
