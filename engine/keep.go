package engine

import (
	"math"
	"strconv"

	"github.com/stintdb/stint/engine/rates"
)

// Keep is the part of a limit that a request must leave to others: it is granted only if so much remains afterwards. It is
// trunk reservation, as telephone networks keep lines for the calls that matter most.
// A limit from which something is kept must have room now: MaxWait does not apply to it. The zero value keeps nothing, but for
// what a check keeps of all limits.
type Keep int64

// KeepNothing keeps nothing of a policy's limit, whatever a check keeps of the others.
const KeepNothing Keep = math.MinInt64

// MaxKeepPercent is all of a limit.
const MaxKeepPercent = 100_000

// KeepTokens is a number of tokens, 0 to MaxTokens.
func KeepTokens(n int64) Keep { return Keep(n) }

// KeepPercent is a share of the capacity in thousandths of a percent, 0 to MaxKeepPercent.
func KeepPercent(thousandths int64) Keep { return Keep(-thousandths) }

// Valid reports whether k is in its range.
func (k Keep) Valid() bool { return k == KeepNothing || k >= -MaxKeepPercent && k <= rates.MaxTokens }

// KeepsValidly reports whether an operation on a limit may have its Keep.
func (o *Op) KeepsValidly() bool {
	return o.Keep == 0 || o.Keep.Valid() && o.Limit.Algorithm.Keeps() && o.Options&Force == 0
}

// WeighsValidly reports whether an operation on a limit may have its Weight.
func (o *Op) WeighsValidly() bool {
	return o.Weight == 0 || o.Weight > 0 && o.Weight <= MaxWeight && o.Limit.Algorithm.Weighs()
}

// of is the number of tokens kept of a capacity. A share is rounded up.
func (k Keep) of(capacity int64) int64 {
	switch {
	case k == KeepNothing:
		return 0
	case k >= 0:
		return int64(k)
	}
	share := int64(-k)
	return capacity/MaxKeepPercent*share + (capacity%MaxKeepPercent*share+MaxKeepPercent-1)/MaxKeepPercent
}

// String is k as clients write it, such as 50 or 12.5%.
func (k Keep) String() string {
	switch {
	case k == KeepNothing:
		return "0"
	case k >= 0:
		return strconv.FormatInt(int64(k), 10)
	}
	return strconv.FormatFloat(float64(-k)/1000, 'f', -1, 64) + "%"
}

// grantable is the tokens of the capacity that the call may take, 0 or less if it keeps all of it back.
func (c *call) grantable() int64 {
	if c.op.Keep == 0 {
		return c.limit.Capacity - c.lent
	}
	return c.limit.Capacity - c.lent - c.op.Keep.of(c.limit.Capacity)
}
