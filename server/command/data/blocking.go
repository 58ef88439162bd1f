package data

import (
	"math"
	"math/big"

	"github.com/stintdb/stint/server/command"
)

// Commands that wait for an element. Their Data is an attempt that does not wait: null says that there is nothing, and within MULTI that is the
// reply. Otherwise the connection attempts again once a key has changed.

const UntilTimeout = " Wait for one if there is none, at most for timeout seconds; 0 is for ever."

// WaitedKeys are the keys of a command that waits for any of them; behind them is the timeout.
var WaitedKeys = command.Keys{First: 1, Last: -2, Access: command.Reads | command.Changes}

// MaxWaitKeys bounds the keys that one command waits for.
const MaxWaitKeys = 1000

// WaitOp makes one operation of a data command that waits.
func WaitOp(r *command.Request, row *command.Row) error {
	keys := 1
	if row.Keys == WaitedKeys {
		keys = len(r.Args) - 2
	}
	timeout, err := parseTimeout(r.Args[len(r.Args)-1])
	switch {
	case err != nil:
		return err
	case keys > MaxWaitKeys:
		return errManyWaitKeys.With(MaxWaitKeys, keys)
	}
	r.Wait = &command.Wait{Keys: keys, Kind: row.Waits, Timeout: timeout}
	return DataOp(r, row)
}

// parseTimeout reads seconds, which Redis rounds up to milliseconds.
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
