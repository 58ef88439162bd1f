package library

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

var mathConstants = map[string]lua.LValue{"pi": lua.LNumber(math.Pi), "huge": lua.LNumber(math.Inf(1))}

func mathOf1(f func(float64) float64) lua.LGFunction {
	return func(L *lua.LState) int { return interpreter.PushNumber(L, f(interpreter.Of(L).CheckNumber(L, 1))) }
}

func mathOf2(f func(a, b float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		r := interpreter.Of(L)
		b := r.CheckNumber(L, 2) // first, as in Redis
		return interpreter.PushNumber(L, f(r.CheckNumber(L, 1), b))
	}
}

const fmodPrice = 100 // in steps

// mathFmod takes longer the farther apart its arguments are.
func mathFmod(L *lua.LState) int {
	interpreter.Of(L).Charge(L, fmodPrice)
	return mathOf2(math.Mod)(L)
}

var mathFunctions = map[string]lua.LGFunction{
	"abs": mathOf1(math.Abs), "acos": mathOf1(math.Acos), "asin": mathOf1(math.Asin), "atan": mathOf1(math.Atan), "atan2": mathOf2(math.Atan2),
	"ceil": mathOf1(math.Ceil), "cos": mathOf1(math.Cos), "cosh": mathOf1(math.Cosh), "exp": mathOf1(math.Exp), "floor": mathOf1(math.Floor),
	"fmod": mathFmod, "log": mathOf1(math.Log), "log10": mathOf1(math.Log10), "pow": mathOf2(interpreter.Power), "sin": mathOf1(math.Sin),
	"sinh": mathOf1(math.Sinh), "sqrt": mathOf1(math.Sqrt), "tan": mathOf1(math.Tan), "tanh": mathOf1(math.Tanh),
	"deg": mathOf1(func(x float64) float64 { return x / (math.Pi / 180) }),
	"rad": mathOf1(func(x float64) float64 { return x * (math.Pi / 180) }),
	"frexp": func(L *lua.LState) int {
		fraction, exponent := math.Frexp(interpreter.Of(L).CheckNumber(L, 1))
		return interpreter.PushNumber(L, fraction) + interpreter.PushInt(L, exponent)
	},
	"ldexp": func(L *lua.LState) int {
		r := interpreter.Of(L)
		exponent := r.CheckInt(L, 2)
		return interpreter.PushNumber(L, math.Ldexp(r.CheckNumber(L, 1), exponent))
	},
	"max": func(L *lua.LState) int { return extreme(L, func(a, b float64) bool { return a > b }) },
	"min": func(L *lua.LState) int { return extreme(L, func(a, b float64) bool { return a < b }) },
	"modf": func(L *lua.LState) int {
		x := interpreter.Of(L).CheckNumber(L, 1)
		whole, fraction := math.Trunc(x), 0.0
		if !math.IsInf(x, 0) {
			fraction = x - whole
		}
		return interpreter.PushNumber(L, whole) + interpreter.PushNumber(L, math.Copysign(fraction, x))
	},
	"random": mathRandom,
	"randomseed": func(L *lua.LState) int {
		r := interpreter.Of(L)
		keptBy(r).random = newRandom(int32(ctext.ToInt64(r.CheckNumber(L, 1))))
		return 0
	},
}

func extreme(L *lua.LState, better func(a, b float64) bool) int {
	r := interpreter.Of(L)
	best := r.CheckNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := r.CheckNumber(L, i); better(x, best) {
			best = x
		}
	}
	return interpreter.PushNumber(L, best)
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
	r := interpreter.Of(L)
	const most = math.MaxInt32
	x := float64(keptBy(r).random.next()%most) / most
	switch L.GetTop() {
	case 0:
		return interpreter.PushNumber(L, x)
	case 1:
		high := r.CheckInt(L, 1)
		if high < 1 {
			r.BadArgument(L, 1, "interval is empty")
		}
		return interpreter.PushNumber(L, math.Floor(x*float64(high))+1)
	case 2:
		low, high := r.CheckInt(L, 1), r.CheckInt(L, 2)
		if low > high {
			r.BadArgument(L, 2, "interval is empty")
		}
		return interpreter.PushNumber(L, math.Floor(x*float64(high-low+1))+float64(low))
	}
	r.Fail(L, "wrong number of arguments")
	return 0
}
