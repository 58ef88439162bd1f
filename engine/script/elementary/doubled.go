package elementary

import "math"

// doubled is a number with the precision of two floats, its sum: hi is the float nearest to it. The operations are those of
// Dekker (1971), good to some 100 bits.
type doubled struct{ hi, lo float64 }

// add is a + b.
func add(a, b float64) doubled {
	s := a + b
	t := s - a
	return doubled{s, (a - (s - t)) + (b - t)}
}

// normal is a + b for an a that is not smaller than b.
func normal(a, b float64) doubled {
	s := a + b
	return doubled{s, b - (s - a)}
}

// multiply is a * b.
func multiply(a, b float64) doubled {
	p := float64(a * b)
	return doubled{p, math.FMA(a, b, -p)}
}

func (a doubled) negated() doubled { return doubled{-a.hi, -a.lo} }

func (a doubled) plus(b doubled) doubled {
	s, t := add(a.hi, b.hi), add(a.lo, b.lo)
	s = normal(s.hi, s.lo+t.hi)
	return normal(s.hi, s.lo+t.lo)
}

func (a doubled) minus(b doubled) doubled { return a.plus(b.negated()) }

func (a doubled) times(b doubled) doubled {
	p := multiply(a.hi, b.hi)
	return normal(p.hi, math.FMA(a.hi, b.lo, math.FMA(a.lo, b.hi, p.lo)))
}

func (a doubled) over(b doubled) doubled {
	q := a.hi / b.hi
	rest := a.minus(b.times(doubled{hi: q}))
	return normal(q, rest.hi/b.hi)
}

func (a doubled) squareRoot() doubled {
	if a.hi <= 0 {
		return doubled{}
	}
	s := math.Sqrt(a.hi)
	rest := a.minus(multiply(s, s))
	return normal(s, rest.hi/(s+s))
}

// shifted is a * 2^n, for a result that is neither very large nor very small.
func (a doubled) shifted(n int) doubled { return doubled{math.Ldexp(a.hi, n), math.Ldexp(a.lo, n)} }

// series is of[0] + of[1]*a + of[2]*a*a and so on. The terms of the second half are so small that floats suffice.
func (a doubled) series(of []doubled) doubled {
	half := len(of) / 2
	small := 0.0
	for i := len(of) - 1; i >= half; i-- {
		small = math.FMA(small, a.hi, of[i].hi)
	}
	sum := doubled{hi: small}
	for i := half - 1; i >= 0; i-- {
		sum = sum.times(a).plus(of[i])
	}
	return sum
}
