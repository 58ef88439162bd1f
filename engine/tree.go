package engine

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// TreesValidly reports whether every tree of classes among the limits of an operation, if there is one, can be decided.
func (o *Op) TreesValidly() bool {
	for i := 0; i < len(o.Parts); {
		levels := TreeAt(o.Parts, i)
		class := &o.Parts[i]
		if class.Limit.Algorithm == limits.Class && len(class.Who) > 0 {
			if _, ok := Assured(class.Who); !ok || levels < 2 || levels > MaxTreeLevels {
				return false
			}
		}
		for ; levels > 1; levels-- {
			i++
			if p := &o.Parts[i]; p.Tokens != class.Tokens || (p.Options^class.Options)&FixedCost != 0 {
				return false
			}
		}
		i++
	}
	return true
}

// TreeAt is the number of parts of the tree of classes that begins at part i, 0 if none does. A settlement charges its
// nodes one by one.
func TreeAt(parts []Op, i int) (levels int) {
	if parts[i].Limit.Algorithm != limits.Class || len(parts[i].Who) != assuredBytes || parts[i].Options&Force != 0 {
		return 0
	}
	for levels = 1; i+levels < len(parts) && parts[i+levels].Limit.Algorithm == limits.Class && len(parts[i+levels].Who) == 0; levels++ {
	}
	return levels
}

// MaxTreeLevels bounds the class and its ancestors.
const MaxTreeLevels = 4

const assuredBytes = 24

// AppendAssured appends an assured rate to b in the form of the Who of a class.
func AppendAssured(b []byte, capacity int64, rate limits.Rate) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(capacity))
	b = binary.LittleEndian.AppendUint64(b, uint64(rate.Tokens))
	return binary.LittleEndian.AppendUint64(b, uint64(rate.Period))
}

// Assured is the assured rate of a class that Who has, and whether there is a valid one.
func Assured(who []byte) (l limits.Limit, ok bool) {
	if len(who) != assuredBytes {
		return l, false
	}
	l = limits.Limit{Algorithm: limits.TokenBucket, Capacity: int64(binary.LittleEndian.Uint64(who)),
		Rate: limits.Rate{Tokens: int64(binary.LittleEndian.Uint64(who[8:])), Period: int64(binary.LittleEndian.Uint64(who[16:]))}}
	return l, l.Check() == nil
}
