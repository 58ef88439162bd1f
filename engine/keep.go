package engine

import (
	"strconv"
)

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
