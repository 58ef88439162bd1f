package library

import (
	"math"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/elementary"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

var mathConstants = map[string]value.Value{"pi": value.Number(math.Pi), "huge": value.Number(math.Inf(1))}

func mathOf1(f func(float64) float64) interpreter.GoFunction {
	return func(L *interpreter.Thread) int { return L.PushNumber(f(L.CheckNumber(1))) }
}

// mathInDialects is mathOf1 of a function without exact results, and of that of dialect 1.
func mathInDialects(f, first func(float64) float64) interpreter.GoFunction {
	now, before := mathOf1(f), mathOf1(first)
	return func(L *interpreter.Thread) int {
		if !interpreter.ComputesAlike(L) {
			return before(L)
		}
		L.Charge(interpreter.ElementaryPrice)
		return now(L)
	}
}

// storedNumber is a number as struct and cmsgpack write its bytes: with one NaN for all, except in dialect 1.
func storedNumber(L *interpreter.Thread, x float64) float64 {
	if !interpreter.ComputesAlike(L) {
		return x
	}
	return ctext.OneNaN(x)
}

func mathOf2(f func(L *interpreter.Thread, a, b float64) float64) interpreter.GoFunction {
	return func(L *interpreter.Thread) int {
		b := L.CheckNumber(2) // first, as in Redis
		return L.PushNumber(f(L, L.CheckNumber(1), b))
	}
}

func arcTangent(L *interpreter.Thread, y, x float64) float64 {
	if !interpreter.ComputesAlike(L) {
		return math.Atan2(y, x)
	}
	L.Charge(interpreter.ElementaryPrice)
	return elementary.Atan2(y, x)
}

const fmodPrice = 100 // in steps

// mathFmod takes longer the farther apart its arguments are.
func mathFmod(L *interpreter.Thread) int {
	L.Charge(fmodPrice)
	return mathOf2(func(_ *interpreter.Thread, a, b float64) float64 { return math.Mod(a, b) })(L)
}

var mathFunctions = map[string]interpreter.GoFunction{
	"abs": mathOf1(math.Abs), "ceil": mathOf1(math.Ceil), "floor": mathOf1(math.Floor), "sqrt": mathOf1(math.Sqrt), "fmod": mathFmod,
	"pow": mathOf2((*interpreter.Thread).Power), "exp": mathInDialects(elementary.Exp, math.Exp),
	"log": mathInDialects(elementary.Log, math.Log), "log10": mathInDialects(elementary.Log10, math.Log10),
	"sin": mathInDialects(elementary.Sin, math.Sin), "cos": mathInDialects(elementary.Cos, math.Cos), "tan": mathInDialects(elementary.Tan, math.Tan),
	"asin": mathInDialects(elementary.Asin, math.Asin), "acos": mathInDialects(elementary.Acos, math.Acos),
	"atan": mathInDialects(elementary.Atan, math.Atan), "atan2": mathOf2(arcTangent),
	"sinh": mathInDialects(elementary.Sinh, math.Sinh), "cosh": mathInDialects(elementary.Cosh, math.Cosh), "tanh": mathInDialects(elementary.Tanh, math.Tanh),
	"deg": mathOf1(func(x float64) float64 { return x / (math.Pi / 180) }),
	"rad": mathOf1(func(x float64) float64 { return x * (math.Pi / 180) }),
	"frexp": func(L *interpreter.Thread) int {
		fraction, exponent := math.Frexp(L.CheckNumber(1))
		return L.PushNumber(fraction) + L.PushInt(exponent)
	},
	"ldexp": func(L *interpreter.Thread) int {
		exponent := L.CheckInt(2)
		return L.PushNumber(math.Ldexp(L.CheckNumber(1), exponent))
	},
	"max": func(L *interpreter.Thread) int { return extreme(L, greater) },
	"min": func(L *interpreter.Thread) int { return extreme(L, less) },
	"modf": func(L *interpreter.Thread) int {
		x := L.CheckNumber(1)
		whole, fraction := math.Trunc(x), 0.0
		if !math.IsInf(x, 0) {
			fraction = x - whole
		}
		return L.PushNumber(whole) + L.PushNumber(math.Copysign(fraction, x))
	},
	"random": mathRandom,
	"randomseed": func(L *interpreter.Thread) int {
		keptBy(L.Run()).random = newRandom(int32(ctext.ToInt64(L.CheckNumber(1))))
		return 0
	},
}

// mathUnaries and mathDirects are the functions of which limiters make use.
var (
	mathUnaries = map[string]interpreter.Unary{"abs": unaryOf(math.Abs), "ceil": unaryOf(math.Ceil), "floor": unaryOf(math.Floor)}
	mathDirects = map[string]func(interpreter.Site) interpreter.Direct{"max": directExtreme(greater), "min": directExtreme(less)}
)

func greater(a, b float64) bool { return a > b }

func less(a, b float64) bool { return a < b }

// directExtreme is the [interpreter.Direct] of extreme for two numbers.
func directExtreme(better func(a, b float64) bool) func(interpreter.Site) interpreter.Direct {
	direct := func(_ *interpreter.Thread, args []value.Value) (value.Value, bool) {
		if len(args) != 2 || !args[0].IsNumber() || !args[1].IsNumber() {
			return value.Nil, false
		}
		best := args[0].Float()
		if x := args[1].Float(); better(x, best) {
			best = x
		}
		return value.Result(best), true
	}
	return func(interpreter.Site) interpreter.Direct { return direct }
}

func extreme(L *interpreter.Thread, better func(a, b float64) bool) int {
	best := L.CheckNumber(1)
	for i := 2; i <= L.Top(); i++ {
		if x := L.CheckNumber(i); better(x, best) {
			best = x
		}
	}
	return L.PushNumber(best)
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

func mathRandom(L *interpreter.Thread) int {
	const most = math.MaxInt32
	x := float64(keptBy(L.Run()).random.next()%most) / most
	switch L.Top() {
	case 0:
		return L.PushNumber(x)
	case 1:
		high := L.CheckInt(1)
		L.Check(high >= 1, 1, "interval is empty")
		return L.PushNumber(math.Floor(x*float64(high)) + 1)
	case 2:
		low, high := L.CheckInt(1), L.CheckInt(2)
		L.Check(low <= high, 2, "interval is empty")
		return L.PushNumber(math.Floor(x*float64(high-low+1)) + float64(low))
	}
	L.Fail("wrong number of arguments")
	return 0
}

// unaryOf is the [interpreter.Unary] of a function of one number.
func unaryOf(f func(float64) float64) interpreter.Unary {
	return func(_ *interpreter.Thread, v value.Value) (value.Value, bool) {
		if v.IsNumber() {
			return value.Result(f(v.Float())), true
		}
		return value.Nil, false
	}
}
