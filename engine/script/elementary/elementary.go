// Package elementary has the functions of Lua's math library that have no exact result: powers, logarithms and those of
// angles. A result is the float nearest to the exact one, but for one in some billions, and is the same on every processor.
// Those of package math differ in their last bits between processors: it has them in assembly for some, of which some
// multiply and add in one operation, and compilers for others join these operations too.
package elementary

import "math"

var (
	one  = doubled{hi: 1}
	pi   = doubled{math.Pi, 1.2246467991473532e-16}
	ln2  = doubled{math.Ln2, 2.3190468138462996e-17}
	ln10 = doubled{math.Ln10, -2.1707562233822494e-16}
)

// Coefficients of the series. Each has as many as the largest argument needs.
var (
	inverses  = coefficients(22, func(_ doubled, i int) doubled { return one.over(doubled{hi: float64(2*i + 1)}) }) // 1, 1/3, 1/5
	factorial = coefficients(28, func(before doubled, i int) doubled { return before.over(doubled{hi: float64(max(i, 1))}) })
	odd, even = parts(factorial)
)

// coefficients are some numbers, each made of the one before, the first of 1.
func coefficients(n int, next func(before doubled, i int) doubled) (all []doubled) {
	last := one
	for i := range n {
		last = next(last, i)
		all = append(all, last)
	}
	return all
}

// parts are the numbers at odd and at even places.
func parts(all []doubled) (odd, even []doubled) {
	for i := 0; i < len(all); i += 2 {
		even, odd = append(even, all[i]), append(odd, all[i+1])
	}
	return odd, even
}

// Bounds of arguments.
const (
	tiny  = 1.0 / (1 << 27) // below, sin x and functions like it are x, to a float's precision
	small = 40              // above, e^-x is too small to be added to e^x
	large = 746             // above, e^x is infinite, and e^-x is 0
)

// exp is e^x as r * 2^n.
func exp(x doubled) (r doubled, n int) {
	if math.Abs(x.hi) > large {
		x = doubled{hi: math.Copysign(large, x.hi)}
	}
	twos := math.RoundToEven(x.hi / math.Ln2)
	return x.minus(ln2.times(doubled{hi: twos})).series(factorial[:24]), int(twos)
}

// log is the natural logarithm of a finite x above 0.
func log(x float64) doubled {
	f, n := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, n = f+f, n-1
	}
	s := doubled{hi: f - 1}.over(add(f, 1))
	half := s.times(s.times(s).series(inverses)) // the inverse hyperbolic tangent of s
	return half.plus(half).plus(ln2.times(doubled{hi: float64(n)}))
}

// Exp is e^x.
func Exp(x float64) float64 {
	r, n := exp(doubled{hi: x})
	return math.Ldexp(r.hi, n)
}

// Log is the natural logarithm: NaN below 0, and -Inf of 0.
func Log(x float64) float64 { return logarithm(x, one) }

// Log10 is the decimal logarithm: NaN below 0, and -Inf of 0.
func Log10(x float64) float64 { return logarithm(x, ln10) }

func logarithm(x float64, base doubled) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	}
	return log(x).over(base).hi
}

// Pow is x^y, with C's results for infinities, zeros and NaN.
func Pow(x, y float64) float64 {
	isWhole := math.Trunc(y) == y
	if x == 0 || y == 0 || math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(x) || math.IsNaN(y) || x < 0 && !isWhole {
		return math.Pow(x, y) // one of its special cases
	}
	most := 1.0 * (1 << 64) // by which no power but that of 1 is finite, nor above 0
	r, n := exp(log(math.Abs(x)).times(doubled{hi: max(-most, min(y, most))}))
	if x < 0 && math.Mod(y, 2) != 0 {
		r = r.negated()
	}
	return math.Ldexp(r.hi, n)
}

// Sinh is the hyperbolic sine.
func Sinh(x float64) float64 {
	switch a := math.Abs(x); {
	case a < tiny || math.IsNaN(x):
		return x
	case a > small:
		return math.Copysign(halfExp(a), x)
	default:
		up, down := expBoth(a)
		return math.Copysign(up.minus(down).hi/2, x)
	}
}

// Cosh is the hyperbolic cosine.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	if a > small {
		return halfExp(a)
	}
	up, down := expBoth(a)
	return up.plus(down).hi / 2
}

// Tanh is the hyperbolic tangent.
func Tanh(x float64) float64 {
	switch a := math.Abs(x); {
	case a < tiny || math.IsNaN(x):
		return x
	case a > small:
		return math.Copysign(1, x)
	default:
		up, down := expBoth(a)
		return math.Copysign(up.minus(down).over(up.plus(down)).hi, x)
	}
}

// halfExp is e^x / 2, which may be finite where e^x is not.
func halfExp(x float64) float64 {
	r, n := exp(doubled{hi: x})
	return math.Ldexp(r.hi, n-1)
}

// expBoth are e^x and e^-x for a small x.
func expBoth(x float64) (up, down doubled) {
	r, n := exp(doubled{hi: x})
	up = r.shifted(n)
	return up, one.over(up)
}
