package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
)

var mathConstants = map[string]lua.LValue{"pi": lua.LNumber(math.Pi), "huge": lua.LNumber(math.Inf(1))}

func mathOf1(f func(float64) float64) lua.LGFunction {
	return func(L *lua.LState) int { return pushNumber(L, f(runOf(L).checkNumber(L, 1))) }
}

func mathOf2(f func(a, b float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		r := runOf(L)
		b := r.checkNumber(L, 2) // first, as in Redis
		return pushNumber(L, f(r.checkNumber(L, 1), b))
	}
}

// mathFmod takes longer the farther apart its arguments are.
func mathFmod(L *lua.LState) int {
	runOf(L).charge(L, fmodPrice)
	return mathOf2(math.Mod)(L)
}

var mathFunctions = map[string]lua.LGFunction{
	"abs": mathOf1(math.Abs), "acos": mathOf1(math.Acos), "asin": mathOf1(math.Asin), "atan": mathOf1(math.Atan), "atan2": mathOf2(math.Atan2),
	"ceil": mathOf1(math.Ceil), "cos": mathOf1(math.Cos), "cosh": mathOf1(math.Cosh), "exp": mathOf1(math.Exp), "floor": mathOf1(math.Floor),
	"fmod": mathFmod, "log": mathOf1(math.Log), "log10": mathOf1(math.Log10), "pow": mathOf2(power), "sin": mathOf1(math.Sin),
	"sinh": mathOf1(math.Sinh), "sqrt": mathOf1(math.Sqrt), "tan": mathOf1(math.Tan), "tanh": mathOf1(math.Tanh),
	"deg": mathOf1(func(x float64) float64 { return x / (math.Pi / 180) }),
	"rad": mathOf1(func(x float64) float64 { return x * (math.Pi / 180) }),
	"frexp": func(L *lua.LState) int {
		fraction, exponent := math.Frexp(runOf(L).checkNumber(L, 1))
		return pushNumber(L, fraction) + pushInt(L, exponent)
	},
	"ldexp": func(L *lua.LState) int {
		r := runOf(L)
		exponent := r.checkInt(L, 2)
		return pushNumber(L, math.Ldexp(r.checkNumber(L, 1), exponent))
	},
	"max": func(L *lua.LState) int { return extreme(L, func(a, b float64) bool { return a > b }) },
	"min": func(L *lua.LState) int { return extreme(L, func(a, b float64) bool { return a < b }) },
	"modf": func(L *lua.LState) int {
		x := runOf(L).checkNumber(L, 1)
		whole, fraction := math.Trunc(x), 0.0
		if !math.IsInf(x, 0) {
			fraction = x - whole
		}
		return pushNumber(L, whole) + pushNumber(L, math.Copysign(fraction, x))
	},
	"random": mathRandom,
	"randomseed": func(L *lua.LState) int {
		r := runOf(L)
		keptBy(r).random = newRandom(int32(ctext.ToInt64(r.checkNumber(L, 1))))
		return 0
	},
}

func extreme(L *lua.LState, better func(a, b float64) bool) int {
	r := runOf(L)
	best := r.checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := r.checkNumber(L, i); better(x, best) {
			best = x
		}
	}
	return pushNumber(L, best)
}

// random is the generator of Redis's scripts, C's lrand48: every run gets the same numbers.
type random uint64

// firstRandom is the state of a generator that nobody seeded.
const firstRandom random = 0x1234abcd330e

func newRandom(seed int32) random { return random(uint64(uint32(seed))<<16 | 0x330e) }

func (x *random) next() int64 {
	*x = (*x*0x5deece66d + 0xb) & (1<<48 - 1)
	return int64(*x >> 17)
}

func mathRandom(L *lua.LState) int {
	r := runOf(L)
	const most = math.MaxInt32
	x := float64(keptBy(r).random.next()%most) / most
	switch L.GetTop() {
	case 0:
		return pushNumber(L, x)
	case 1:
		high := r.checkInt(L, 1)
		if high < 1 {
			r.badArgument(L, 1, "interval is empty")
		}
		return pushNumber(L, math.Floor(x*float64(high))+1)
	case 2:
		low, high := r.checkInt(L, 1), r.checkInt(L, 2)
		if low > high {
			r.badArgument(L, 2, "interval is empty")
		}
		return pushNumber(L, math.Floor(x*float64(high-low+1))+float64(low))
	}
	r.fail(L, "wrong number of arguments")
	return 0
}
