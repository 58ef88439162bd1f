package data

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Commands on data: strings, hashes, sorted sets, lists and sets, as Redis 7.0 has them. They exist so that limiters
// built from Redis commands and scripts run here. Each is a Row with a Data function.

// Call is a data command being carried out: its keys, its arguments and the RESP2 reply. It has no other input,
// because every node of a cluster carries it out, with the same outcome.
type Call struct {
	Tx     *transaction.Tx
	Args   [][]byte // the name included
	Writer resp.Writer

	op       *engine.Op // of a call by a client, not by a script
	executor *Executor
	script   *scriptCaller // kept from call to call
	digits   [20]byte      // room for a number
}

// DataOp makes one operation of a data command.
func DataOp(r *command.Request, row *command.Row) error {
	keys, args := row.Keys.Of(r.Args), r.KeepArgs(r.Args)
	switch { // an operation has its keys side by side
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
	op := engine.Op{Verb: engine.Command, Args: args, KeyFrom: uint32(keys.From), KeyCount: uint32(keys.To - keys.From), Database: r.Database}
	if row.Flags&command.Write == 0 {
		op.Options = engine.Peek
	}
	r.Ops = append(r.Ops, op)
	if r.Shape = row.Shape; r.Shape == resp.Scored && !HasWord(r.Args[keys.To:], "WITHSCORES") {
		r.Shape = resp.Same
	}
	if row.ShapeOf != nil {
		r.Shape = row.ShapeOf(r.Args)
	}
	return nil
}

// keysFirst puts the keys of pairs of keys and values in front of the values, and counts them.
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

// ReplyData answers a data command.
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

// Get returns the value of a key that must be of a kind. Otherwise it writes the error, the value is zero, and ok is false.
func (c *Call) Get(key []byte, kind limits.Algorithm) (v engine.Value, found, ok bool) {
	v, found = c.Tx.Get(key)
	if found && v.Kind != kind {
		c.Fail(command.ErrDataType)
		return engine.Value{}, found, false
	}
	return v, found, true
}

// Fits reports whether a value of this many bytes can be kept, and writes the error if not.
func (c *Call) Fits(bytes int) bool {
	if bytes > engine.MaxValueBytes {
		c.Fail(errValueTooBig.With(engine.MaxValueBytes, bytes))
		return false
	}
	return true
}

// FailTooBig writes the error of a reply that is too big, in place of what was written of it since start.
func (c *Call) FailTooBig(start int) {
	c.Writer.Buf = c.Writer.Buf[:start]
	c.Fail(ErrReplyTooBig.With(MaxRepeatedBytes))
}

// Integer reads an argument as Redis reads integers: no sign but '-', no leading zeros, no blanks. It writes the error.
func (c *Call) Integer(arg []byte) (n int64, ok bool) {
	if n, ok = command.ParseRedisInt(arg); !ok {
		c.Fail(command.ErrNotInteger)
	}
	return n, ok
}

// Positive reads a number that must not be negative.
func (c *Call) Positive(arg []byte) (n int64, ok bool) { return c.AtLeast(arg, errNotPositive) }

// AtLeast reads a number of at least 0, and writes the error of another.
func (c *Call) AtLeast(arg []byte, err error) (n int64, ok bool) {
	if n, ok = command.ParseRedisInt(arg); !ok || n < 0 {
		c.Fail(err)
		return 0, false
	}
	return n, true
}

// AddInts adds, and reports whether the sum is within 64 bits.
func AddInts(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}

// FormatInt writes a number into the call's own buffer, which the next one overwrites.
func (c *Call) FormatInt(n int64) []byte { return strconv.AppendInt(c.digits[:0], n, 10) }

// BulkInt writes a number as a bulk string.
func (c *Call) BulkInt(n int64) { c.Writer.Bulk(c.FormatInt(n)) }

// ByClient reports whether a client made the call, not a script. An operation by a client has its keys side by side, see dataOp.
func (c *Call) ByClient() bool { return c.op != nil }

// Databases is the number of databases, 0 in a cluster, which has one.
func (c *Call) Databases() int { return c.executor.Databases }

// MayReplace reports whether a key holds no limiter, and writes the error if it does.
func (c *Call) MayReplace(key []byte) bool {
	if v, found := c.Tx.Get(key); found && !v.Kind.IsValue() {
		c.Fail(command.ErrDataType)
		return false
	}
	return true
}

func (c *Call) BulkOrNull(b []byte, found bool) {
	if found {
		c.Writer.Bulk(b)
	} else {
		c.Writer.Null()
	}
}

// Integers reads two integers.
func (c *Call) Integers(first, second []byte) (a, b int64, ok bool) {
	if a, ok = c.Integer(first); ok {
		b, ok = c.Integer(second)
	}
	return a, b, ok
}
