package value

import (
	"math"
	"strconv"

	"github.com/stintdb/stint/engine/script/ctext"
)

// Display is tostring without metamethods and without addresses.
func Display(v Value) string {
	if text, is := AsText(v); is {
		return text
	}
	switch v.Kind() {
	case NilKind:
		return "nil"
	case BoolKind:
		return strconv.FormatBool(v.IsTrue())
	}
	return v.Kind().String() + ": 0x00000000"
}

// AsText is the text of a string or a number.
func AsText(v Value) (string, bool) {
	switch {
	case v.IsString():
		return v.Text(), true
	case v.IsNumber():
		return ctext.NumberText(v.Float()), true
	}
	return "", false
}

// Modulo is a - floor(a/b)*b. The conversions keep compilers from fusing the operations.
func Modulo(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }

// Power is a ^ b: exact where the result is a whole number that a float can hold, and by another function elsewhere.
func Power(a, b float64, elsewhere func(a, b float64) float64) float64 {
	if b == 2 {
		return a * a
	}
	if b == 0.5 && a >= 0 && !math.IsInf(a, 0) {
		return math.Sqrt(a)
	}
	if n := int(b); float64(n) == b && n > 0 && n <= 64 { // exact where the result is
		result, base := 1.0, a
		for ; n > 0; n >>= 1 {
			if n&1 == 1 {
				result *= base
			}
			base *= base
		}
		if result == math.Trunc(result) && math.Abs(result) <= 1<<53 {
			return result
		}
	}
	return elsewhere(a, b)
}
