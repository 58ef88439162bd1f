package library

import (
	"math"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

var packConstants = map[string]value.Value{"_NAME": value.String("cmsgpack"), "_VERSION": value.String("lua-cmsgpack 0.4.0"),
	"_COPYRIGHT": value.String("Copyright (C) 2012, Redis Ltd."), "_DESCRIPTION": value.String("MessagePack C implementation for Lua")}

var packFunctions = map[string]interpreter.GoFunction{
	"pack":   packValues,
	"unpack": func(L *interpreter.Thread) int { return unpackValues(L, -1, 0) },
	"unpack_one": func(L *interpreter.Thread) int {
		return unpackValues(L, 1, L.OptInt(2, 0))
	},
	"unpack_limit": func(L *interpreter.Thread) int {
		return unpackValues(L, L.CheckInt(2), L.OptInt(3, 0))
	},
}

// maxPackDepth is the level whose tables become nil.
const maxPackDepth = 16

// maxUnpackDepth is the deepest level that unpack reads.
const maxUnpackDepth = 200

func packValues(L *interpreter.Thread) int {
	L.Check(L.Top() > 0, 0, "MessagePack pack needs input.")
	var out []byte
	for i := 1; i <= L.Top(); i++ {
		out = pack(L, out, L.Get(i), 0)
	}
	return L.PushText(out)
}

func pack(L *interpreter.Thread, out []byte, v value.Value, depth int) []byte {
	L.Charge(2)
	switch v.Kind() {
	case value.StringKind:
		text := v.Text()
		L.ChargeBytes(len(text))
		return append(packHeader(out, len(text), 0xa0, 32, 0xd9), text...)
	case value.BoolKind:
		if v.IsTrue() {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case value.NumberKind:
		return packNumber(L, out, v.Float())
	case value.TableKind:
		if depth < maxPackDepth {
			return packTable(L, out, v.Table(), depth)
		}
	}
	return append(out, 0xc0)
}

// packHeader appends the size of a string, an array or a map: in one byte below a limit, or after a code.
func packHeader(out []byte, n int, small byte, limit int, code byte) []byte {
	if n < limit {
		return append(out, small|byte(n))
	}
	size := 2
	if code == 0xd9 {
		size = 1
	}
	for ; n>>(8*size) != 0; size *= 2 {
		code++
	}
	return appendBytes(append(out, code), uint64(n), size)
}

func packNumber(L *interpreter.Thread, out []byte, x float64) []byte {
	n := ctext.ToInt64(x)
	if float64(n) != x || x >= 1<<63 {
		if float := float32(x); float64(float) == x {
			return appendBytes(append(out, 0xca), uint64(math.Float32bits(float)), 4)
		}
		return appendBytes(append(out, 0xcb), math.Float64bits(storedNumber(L, x)), 8)
	}
	if n >= -32 && n <= 127 {
		return append(out, byte(n))
	}
	code, bits := byte(0xcc), uint64(n)
	if n < 0 {
		code, bits = 0xd0, uint64(^n)<<1 // one bit is the sign
	}
	size := 1
	for ; size < 8 && bits>>(8*size) != 0; size *= 2 {
		code++
	}
	return appendBytes(append(out, code), uint64(n), size)
}

// appendBytes appends the lowest bytes of a number, the highest of them first.
func appendBytes(out []byte, n uint64, size int) []byte {
	for i := size - 1; i >= 0; i-- {
		out = append(out, byte(n>>(8*i)))
	}
	return out
}

// signed is a number of some bytes in two's complement.
func signed(n uint64, size int) float64 {
	shift := max(64-8*size, 0)
	return float64(int64(n<<shift) >> shift)
}

func packTable(L *interpreter.Thread, out []byte, t *value.Table, depth int) []byte {
	keys := L.PairsOf(t)
	if most, is := arrayLength(keys); is && most == len(keys) {
		out = packHeader(out, most, 0x90, 16, 0xdc)
		for i := 1; i <= most; i++ {
			out = pack(L, out, t.Get(value.Int(i)), depth+1)
		}
		return out
	}
	out = packHeader(out, len(keys), 0x80, 16, 0xde)
	for _, key := range keys {
		out = pack(L, out, key, depth+1)
		out = pack(L, out, t.Get(key), depth+1)
	}
	return out
}

// arrayLength returns the largest of the keys, if all are whole numbers from 1.
func arrayLength(keys []value.Value) (most int, is bool) {
	for _, key := range keys {
		n := 0.0
		if key.IsNumber() {
			n = key.Float()
		}
		if n < 1 || n != math.Trunc(n) || n > 1<<31 {
			return 0, false
		}
		most = max(most, int(n))
	}
	return most, true
}

// unpacker reads MessagePack.
type unpacker struct {
	L    *interpreter.Thread
	data string
}

// unpackValues returns up to limit values from an offset, behind the offset of the rest; or all, for a limit of -1.
func unpackValues(L *interpreter.Thread, limit, offset int) int {
	data := L.CheckString(1)
	switch {
	case offset < 0 || limit < -1:
		L.Fail("Invalid request to unpack with offset of %d and limit of %d.", offset, len(data))
	case offset > len(data):
		L.Fail("Start offset %d greater than input length %d.", offset, len(data))
	}
	u := unpacker{L, data[offset:]}
	var results []value.Value
	for len(u.data) > 0 && (limit < 0 || len(results) < limit) {
		results = append(results, u.value(0))
		if len(results) > interpreter.MaxUnpacked {
			L.Fail("too many results to unpack")
		}
	}
	if limit >= 0 {
		rest := len(data) - len(u.data)
		if len(u.data) == 0 {
			rest = -1
		}
		results = append([]value.Value{value.Int(rest)}, results...)
	}
	return L.PushAll(results)
}

func (u *unpacker) take(n int) string {
	if n < 0 || n > len(u.data) {
		u.L.Fail("Missing bytes in input.")
	}
	taken := u.data[:n]
	u.data = u.data[n:]
	return taken
}

func (u *unpacker) unsigned(size int) (n uint64) {
	for _, c := range []byte(u.take(size)) {
		n = n<<8 | uint64(c)
	}
	return n
}

func (u *unpacker) value(depth int) value.Value {
	u.L.Charge(3)
	if depth > maxUnpackDepth {
		u.bad()
	}
	c := u.take(1)[0]
	switch {
	case c < 0x80:
		return value.Int(int(c))
	case c < 0x90:
		return u.mapping(int(c&15), depth)
	case c < 0xa0:
		return u.array(int(c&15), depth)
	case c < 0xc0:
		return u.text(int(c & 31))
	case c >= 0xe0:
		return value.Int(int(int8(c)))
	}
	switch c {
	case 0xc0:
		return value.Nil
	case 0xc2:
		return value.False
	case 0xc3:
		return value.True
	case 0xc4, 0xc5, 0xc6:
		return u.text(int(u.unsigned(1 << (c - 0xc4))))
	case 0xd9, 0xda, 0xdb:
		return u.text(int(u.unsigned(1 << (c - 0xd9))))
	case 0xca:
		return value.Number(float64(math.Float32frombits(uint32(u.unsigned(4)))))
	case 0xcb:
		return value.Number(math.Float64frombits(u.unsigned(8)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return value.Number(float64(u.unsigned(1 << (c - 0xcc))))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := 1 << (c - 0xd0)
		return value.Number(signed(u.unsigned(size), size))
	case 0xdc, 0xdd:
		return u.array(int(u.unsigned(2<<(c-0xdc))), depth)
	case 0xde, 0xdf:
		return u.mapping(int(u.unsigned(2<<(c-0xde))), depth)
	}
	u.bad()
	return value.Nil
}

func (u *unpacker) bad() { u.L.Fail("Bad data format in input.") }

func (u *unpacker) text(n int) value.Value {
	text := u.take(n)
	u.L.ChargeBytes(n)
	return value.String(text)
}

func (u *unpacker) array(n, depth int) value.Value {
	t := u.L.NewTable(0, 0)
	for i := 1; i <= n; i++ {
		u.L.Set(t, value.Int(i), u.value(depth+1))
	}
	return value.OfTable(t)
}

func (u *unpacker) mapping(n, depth int) value.Value {
	t := u.L.NewTable(0, 0)
	for range n {
		u.L.Charge(10)
		key := u.value(depth + 1)
		u.L.Set(t, key, u.value(depth+1))
	}
	return value.OfTable(t)
}
