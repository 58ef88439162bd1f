package elementary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

const precision = 400 // of the twin, in bits

func exact(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func zero() *big.Float { return exact(0) }

// twinSeries adds terms until they no longer count. next makes a term of the one before.
func twinSeries(term *big.Float, next func(term *big.Float, n int64)) *big.Float {
	sum := zero().Set(term)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-precision; n++ {
		next(term, n)
		sum.Add(sum, term)
	}
	return sum
}

func twinExp(x *big.Float) *big.Float {
	const halvings = 30
	r := zero().SetMantExp(x, -halvings)
	e := twinSeries(exact(1), func(term *big.Float, n int64) { term.Quo(term.Mul(term, r), exact(float64(n))) })
	for range halvings {
		e.Mul(e, e)
	}
	return e
}

// twinLog is Newton's method from the nearest float.
func twinLog(x *big.Float) *big.Float {
	start, _ := x.Float64()
	y := exact(math.Log(start))
	for range 4 {
		e := twinExp(y)
		y.Add(y, zero().Quo(exact(2).Mul(exact(2), zero().Sub(x, e)), zero().Add(x, e)))
	}
	return y
}

// twinSine is the series at an angle, and at angles that a right angle leads to.
func twinSine(x *big.Float) *big.Float {
	square := zero().Mul(x, x)
	square.Neg(square)
	return twinSeries(zero().Set(x), func(term *big.Float, n int64) {
		term.Quo(term.Mul(term, square), exact(float64(2*n*(2*n+1))))
	})
}

func twinCosine(x *big.Float) *big.Float {
	square := zero().Mul(x, x)
	square.Neg(square)
	return twinSeries(exact(1), func(term *big.Float, n int64) {
		term.Quo(term.Mul(term, square), exact(float64(2*n*(2*n-1))))
	})
}

func twinTangent(x *big.Float) *big.Float { return zero().Quo(twinSine(x), twinCosine(x)) }

func twinHyperbolic(x *big.Float) (sine, cosine *big.Float) {
	up := twinExp(x)
	down := zero().Quo(exact(1), up)
	half := exact(0.5)
	return zero().Mul(half, zero().Sub(up, down)), zero().Mul(half, zero().Add(up, down))
}

// isNearest reports whether no float is nearer to an exact result than a computed one.
func isNearest(got float64, want *big.Float) bool {
	nearest, _ := want.Float64()
	return got == nearest
}

// isInverse reports whether y is the float nearest to the number at which the increasing function f is x.
func isInverse(y, x float64, f func(*big.Float) *big.Float) bool {
	middle := func(other float64) *big.Float { return zero().Mul(exact(0.5), zero().Add(exact(y), exact(other))) }
	low, high := middle(math.Nextafter(y, math.Inf(-1))), middle(math.Nextafter(y, math.Inf(1)))
	return f(low).Cmp(exact(x)) <= 0 && f(high).Cmp(exact(x)) >= 0
}

// The results of random arguments are the nearest floats.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(testsize.Seed(), 1))
	// a number with one of many exponents
	number := func(least, most int) float64 {
		return math.Ldexp(0.5+r.Float64()/2, least+r.IntN(most-least)) * float64(1-2*r.IntN(2))
	}
	negated := func(f func(*big.Float) *big.Float) func(*big.Float) *big.Float {
		return func(x *big.Float) *big.Float { return zero().Neg(f(x)) }
	}
	for range testsize.Pick(300, 30_000) {
		check := func(name string, ok bool, got float64, args ...float64) {
			if !ok {
				t.Errorf("%s of %v is %v", name, args, got)
			}
		}
		x := number(-30, 10)
		if math.Abs(x) < 700 {
			check("Exp", isNearest(Exp(x), twinExp(exact(x))), Exp(x), x)
			sine, cosine := twinHyperbolic(exact(x))
			check("Sinh", isNearest(Sinh(x), sine), Sinh(x), x)
			check("Cosh", isNearest(Cosh(x), cosine), Cosh(x), x)
			check("Tanh", isNearest(Tanh(x), zero().Quo(sine, cosine)), Tanh(x), x)
		}
		x = number(-30, 7)
		check("Sin", isNearest(Sin(x), twinSine(exact(x))), Sin(x), x)
		check("Cos", isNearest(Cos(x), twinCosine(exact(x))), Cos(x), x)
		check("Tan", isNearest(Tan(x), twinTangent(exact(x))), Tan(x), x)
		check("Atan", isInverse(Atan(x), x, twinTangent), Atan(x), x)
		y := number(-30, 7)
		if of, _ := zero().Quo(exact(y), exact(x)).Float64(); x > 0 {
			// y/x is not a float, so the tangents are compared with it
			low, high := math.Nextafter(Atan2(y, x), math.Inf(-1)), math.Nextafter(Atan2(y, x), math.Inf(1))
			ratio := zero().Quo(exact(y), exact(x))
			check("Atan2", twinTangent(exact(low)).Cmp(ratio) <= 0 && twinTangent(exact(high)).Cmp(ratio) >= 0, of, y, x)
		}
		x = number(-30, 1)
		check("Asin", isInverse(Asin(x), x, twinSine), Asin(x), x)
		check("Acos", isInverse(Acos(x), -x, negated(twinCosine)), Acos(x), x)
		x = math.Abs(number(-1000, 1000))
		check("Log", isNearest(Log(x), twinLog(exact(x))), Log(x), x)
		check("Log10", isNearest(Log10(x), zero().Quo(twinLog(exact(x)), twinLog(exact(10)))), Log10(x), x)
		if y = number(-10, 10); math.Abs(y*math.Log(x)) < 700 {
			check("Pow", isNearest(Pow(x, y), twinExp(zero().Mul(exact(y), twinLog(exact(x))))), Pow(x, y), x, y)
		}
	}
}

// Zeros, infinities, NaN and results that no float holds are those of C.
func TestSpecial(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Exp(Inf)", Exp(inf), inf}, {"Exp(-Inf)", Exp(-inf), 0}, {"Exp(NaN)", Exp(nan), nan}, {"Exp(0)", Exp(0), 1},
		{"Exp(709.7)", Exp(709.7), 1.6549840276802644e+308}, {"Exp(710)", Exp(710), inf}, {"Exp(-745)", Exp(-745), 5e-324}, {"Exp(-746)", Exp(-746), 0},
		{"Log(0)", Log(0), -inf}, {"Log(-1)", Log(-1), nan}, {"Log(Inf)", Log(inf), inf}, {"Log(NaN)", Log(nan), nan}, {"Log(1)", Log(1), 0}, {"Log(5e-324)", Log(5e-324), -744.4400719213812},
		{"Log10(1000)", Log10(1000), 3}, {"Log10(1e-300)", Log10(1e-300), -300},
		{"Pow(2, -1074)", Pow(2, -1074), 5e-324}, {"Pow(2, 1024)", Pow(2, 1024), inf}, {"Pow(1, 1e300)", Pow(1, 1e300), 1}, {"Pow(0.5, 1e300)", Pow(0.5, 1e300), 0}, {"Pow(-2, 3)", Pow(-2, 3), -8},
		{"Pow(-2, 1e300)", Pow(-2, 1e300), inf}, {"Pow(-2, 0.5)", Pow(-2, 0.5), nan}, {"Pow(-0, -3)", Pow(zero, -3), -inf}, {"Pow(10, 300)", Pow(10, 300), 1e300}, {"Pow(10, -5)", Pow(10, -5), 1e-5},
		{"Sin(Inf)", Sin(inf), nan}, {"Cos(NaN)", Cos(nan), nan}, {"Sin(-0)", Sin(zero), zero}, {"Sin(1e22)", Sin(1e22), -0.8522008497671888}, {"Cos(1e308)", Cos(1e308), -0.8913089376870335}, {"Tan(π/2)", Tan(math.Pi / 2), 1.633123935319537e+16},
		{"Sin(6381956970095103·2^797)", Sin(math.Ldexp(6381956970095103, 797)), 1}, {"Cos(6381956970095103·2^797)", Cos(math.Ldexp(6381956970095103, 797)), -4.687165924254628e-19},
		{"Asin(1)", Asin(1), math.Pi / 2}, {"Asin(-1)", Asin(-1), -math.Pi / 2}, {"Asin(1.1)", Asin(1.1), nan}, {"Acos(1)", Acos(1), 0}, {"Acos(-1)", Acos(-1), math.Pi}, {"Acos(0)", Acos(0), math.Pi / 2}, {"Acos(NaN)", Acos(nan), nan},
		{"Atan(Inf)", Atan(inf), math.Pi / 2}, {"Atan(-0)", Atan(zero), zero}, {"Atan(1)", Atan(1), math.Pi / 4}, {"Atan2(-1e-320, -1)", Atan2(-1e-320, -1), -math.Pi}, {"Atan2(1e300, 1e-300)", Atan2(1e300, 1e-300), math.Pi / 2}, {"Atan2(1e-310, 1e-310)", Atan2(1e-310, 1e-310), math.Pi / 4},
		{"Sinh(-Inf)", Sinh(-inf), -inf}, {"Sinh(710.4)", Sinh(710.4), 1.6663642832806496e+308}, {"Cosh(-800)", Cosh(-800), inf}, {"Cosh(NaN)", Cosh(nan), nan}, {"Tanh(-Inf)", Tanh(-inf), -1}, {"Tanh(-0)", Tanh(zero), zero},
	} {
		if math.IsNaN(c.got) != math.IsNaN(c.want) || !math.IsNaN(c.want) && math.Float64bits(c.got) != math.Float64bits(c.want) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}
