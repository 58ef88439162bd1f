package elementary

import (
	"math"
	"math/big"
)

// Sin is the sine of an angle in radians.
func Sin(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	sine, _ := sineCosine(x)
	return sine.hi
}

// Cos is the cosine of an angle in radians.
func Cos(x float64) float64 {
	_, cosine := sineCosine(x)
	return cosine.hi
}

// Tan is the tangent of an angle in radians.
func Tan(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	sine, cosine := sineCosine(x)
	return sine.over(cosine).hi
}

func sineCosine(x float64) (sine, cosine doubled) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return doubled{hi: math.NaN()}, doubled{hi: math.NaN()}
	}
	quadrant, r := reduce(math.Abs(x))
	square := r.times(r).negated()
	sine, cosine = r.times(square.series(odd)), square.series(even)
	if quadrant&1 == 1 {
		sine, cosine = cosine, sine.negated()
	}
	if quadrant&2 == 2 {
		sine, cosine = sine.negated(), cosine.negated()
	}
	if x < 0 {
		sine = sine.negated()
	}
	return sine, cosine
}

// fraction is the number of bits behind the point of halfPi. The largest float has 1024 bits before it, so it keeps more
// than a hundred bits of the rest of its division.
const fraction = 1300

// halfPi is π/2 in units of 2^-fraction.
var halfPi, _ = new(big.Int).SetString(
	"1921fb54442d18469898cc51701b839a252049c1114cf98e804177d4c76273644a29410f31c6809bbdf2a33679a748636605614dbe4be2"+
		"86e9fc26adadaa3848bc90b6aecc4bcfd8de89885d34c6fdad617feb96de80d6fdbdc70d7f6b5133f4b5d3e4822f8963fcc9250cca3d9c"+
		"8b67b8400f97142c77e0b31b4906c38aba734d22c7f51fa499ebf06caba47b9475b2c38c5e6ac410aa5773daa520ee12d2cdace186", 16)

// reduce is x as a number of right angles, of which it keeps the last two bits, and a rest of up to half of one.
func reduce(x float64) (quadrant uint, rest doubled) {
	if x < math.Pi/4 {
		return 0, doubled{hi: x}
	}
	f, exponent := math.Frexp(x)
	n := big.NewInt(int64(math.Ldexp(f, 53)))
	n.Lsh(n, uint(fraction+exponent-53))
	turns, r := new(big.Int).QuoRem(n, halfPi, new(big.Int))
	if n.Lsh(r, 1).Cmp(halfPi) > 0 {
		turns.Add(turns, big.NewInt(1))
		r.Sub(r, halfPi)
	}
	exact := new(big.Float).SetInt(r)
	exact.SetMantExp(exact, -fraction)
	rest.hi, _ = exact.Float64()
	rest.lo, _ = exact.Sub(exact, big.NewFloat(rest.hi)).Float64()
	return turns.Bit(0) | turns.Bit(1)<<1, rest
}

// Asin is the angle, in radians, that has a sine.
func Asin(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	return math.Copysign(angle(doubled{hi: math.Abs(x)}, coordinate(x)).hi, x)
}

// Acos is the angle, in radians, that has a cosine.
func Acos(x float64) float64 {
	a := angle(coordinate(x), doubled{hi: math.Abs(x)})
	if x < 0 {
		a = pi.minus(a)
	}
	return a.hi
}

// coordinate is the square root of 1 - x*x, NaN where it has none.
func coordinate(x float64) doubled {
	if !(math.Abs(x) <= 1) {
		return doubled{hi: math.NaN()}
	}
	return add(1, x).times(add(1, -x)).squareRoot()
}

// Atan is the angle, in radians, that has a tangent.
func Atan(x float64) float64 { return Atan2(x, 1) }

// Atan2 is the angle, in radians, of the point (x, y), with C's results for infinities, zeros and NaN.
func Atan2(y, x float64) float64 {
	if x == 0 || y == 0 || math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(x) || math.IsNaN(y) {
		return math.Atan2(y, x) // one of its special cases
	}
	_, m := math.Frexp(y)
	_, n := math.Frexp(x)
	var a doubled
	switch {
	case m-n > 60:
		a = pi.shifted(-1)
	case m-n < -60 && x > 0:
		return y / x
	case m-n < -60:
		a = pi
	default:
		a = angle(doubled{hi: math.Ldexp(math.Abs(y), -n)}, doubled{hi: math.Ldexp(math.Abs(x), -n)})
		if x < 0 {
			a = pi.minus(a)
		}
	}
	return math.Copysign(a.hi, y)
}

// angle is the angle of the point (x, y), of which no coordinate is negative and at most one is 0.
func angle(y, x doubled) doubled {
	if y.hi > x.hi {
		return pi.shifted(-1).minus(angle(x, y))
	}
	const halvings = 3 // so that the series is short
	tangent := y.over(x)
	for range halvings {
		tangent = tangent.over(one.plus(one.plus(tangent.times(tangent)).squareRoot()))
	}
	return tangent.times(tangent.times(tangent).negated().series(inverses)).shifted(halvings)
}
