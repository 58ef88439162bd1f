package data

import (
	"math"
	"math/big"

	"github.com/stintdb/stint/server/command"
)

// Commands that wait for an element. Their function does not wait: it tries once and replies null if there is no
// element. Within MULTI that is the reply; otherwise the connection tries again when one of the keys changes.

// UntilTimeout ends the summaries of these commands.
const UntilTimeout = " Wait for one if there is none, for at most timeout seconds; 0 is no limit."

// WaitedKeys are the keys of a command that waits for any of them. The timeout follows the keys.
var WaitedKeys = command.Keys{First: 1, Last: -2, Access: command.Reads | command.Changes}

// MaxWaitKeys limits the keys that one command waits for.
const MaxWaitKeys = 1000

// ParseWait parses a data command that waits into one operation.
func ParseWait(r *command.Request, row *command.Row) error {
	keys := 1
	if row.Keys == WaitedKeys {
		keys = len(r.Args) - 2
	}
	timeout, err := parseTimeout(r.Args[len(r.Args)-1])
	switch {
	case err != nil:
		return err
	case keys > MaxWaitKeys:
		return ErrManyWaitKeys.With(MaxWaitKeys, keys)
	}
	r.Wait = &command.Wait{From: 1, Keys: keys, Kind: row.Waits, Timeout: timeout}
	return ParseOp(r, row)
}

// parseTimeout parses seconds and, like Redis, rounds them up to milliseconds.
func parseTimeout(b []byte) (nanos int64, err error) {
	var f big.Float
	if !ParseLongDouble(b, f.SetPrec(longDoubleBits)) {
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

// ParseMillis parses the timeout of a command that takes milliseconds.
func ParseMillis(b []byte) (nanos int64, err error) {
	ms, ok := command.ParseRedisInt(b)
	switch {
	case !ok:
		return 0, errTimeoutInteger
	case ms < 0:
		return 0, command.ErrTimeoutNegative
	}
	return min(ms, math.MaxInt64/1_000_000) * 1_000_000, nil
}
