package library

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/script/interpreter"
)

// bitArg is an argument of the bit library: the low 32 bits of the number, rounded to a whole one.
func bitArg(L *interpreter.Thread, i int) uint32 {
	return uint32(math.Float64bits(L.CheckNumber(i) + 3<<51))
}

func pushBits(L *interpreter.Thread, x uint32) int { return L.PushNumber(float64(int32(x))) }

// fold combines all arguments.
func fold(combine func(a, b uint32) uint32) interpreter.GoFunction {
	return func(L *interpreter.Thread) int {
		x := bitArg(L, 1)
		for i := L.Top(); i > 1; i-- {
			x = combine(x, bitArg(L, i))
		}
		return pushBits(L, x)
	}
}

func shift(by func(x uint32, n int) uint32) interpreter.GoFunction {
	return func(L *interpreter.Thread) int {
		x := bitArg(L, 1)
		return pushBits(L, by(x, int(bitArg(L, 2)&31)))
	}
}

var bitFunctions = map[string]interpreter.GoFunction{
	"tobit":   func(L *interpreter.Thread) int { return pushBits(L, bitArg(L, 1)) },
	"bnot":    func(L *interpreter.Thread) int { return pushBits(L, ^bitArg(L, 1)) },
	"bswap":   func(L *interpreter.Thread) int { return pushBits(L, bits.ReverseBytes32(bitArg(L, 1))) },
	"band":    fold(func(a, b uint32) uint32 { return a & b }),
	"bor":     fold(func(a, b uint32) uint32 { return a | b }),
	"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
	"lshift":  shift(func(x uint32, n int) uint32 { return x << n }),
	"rshift":  shift(func(x uint32, n int) uint32 { return x >> n }),
	"arshift": shift(func(x uint32, n int) uint32 { return uint32(int32(x) >> n) }),
	"rol":     shift(bits.RotateLeft32),
	"ror":     shift(func(x uint32, n int) uint32 { return bits.RotateLeft32(x, -n) }),
	"tohex":   bitToHex,
}

func bitToHex(L *interpreter.Thread) int {
	x, n := bitArg(L, 1), 8
	if L.Top() > 1 {
		n = int(int32(bitArg(L, 2)))
	}
	digits := strconv.FormatUint(uint64(x)|1<<32, 16)[1:]
	if n < 0 {
		digits, n = strings.ToUpper(digits), -n
	}
	return L.PushString(digits[8-min(max(n, 0), 8):])
}
