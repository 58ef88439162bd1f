package library

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
)

var packConstants = map[string]lua.LValue{"_NAME": lua.LString("cmsgpack"), "_VERSION": lua.LString("lua-cmsgpack 0.4.0"),
	"_COPYRIGHT": lua.LString("Copyright (C) 2012, Redis Ltd."), "_DESCRIPTION": lua.LString("MessagePack C implementation for Lua")}

var packFunctions = map[string]lua.LGFunction{
	"pack":   packValues,
	"unpack": func(L *lua.LState) int { return unpackValues(L, -1, 0) },
	"unpack_one": func(L *lua.LState) int {
		return unpackValues(L, 1, interpreter.Of(L).OptInt(L, 2, 0))
	},
	"unpack_limit": func(L *lua.LState) int {
		r := interpreter.Of(L)
		return unpackValues(L, r.CheckInt(L, 2), r.OptInt(L, 3, 0))
	},
}

// maxPackDepth is the level whose tables become nil.
const maxPackDepth = 16

// maxUnpackDepth is the deepest level that unpack reads.
const maxUnpackDepth = 200

func packValues(L *lua.LState) int {
	r := interpreter.Of(L)
	if L.GetTop() == 0 {
		r.BadArgument(L, 0, "MessagePack pack needs input.")
	}
	var out []byte
	for i := 1; i <= L.GetTop(); i++ {
		out = pack(r, L, out, L.Get(i), 0)
	}
	return interpreter.PushString(L, string(out))
}

func pack(r *interpreter.Run, L *lua.LState, out []byte, v lua.LValue, depth int) []byte {
	r.Charge(L, 2)
	switch v := v.(type) {
	case lua.LString:
		r.ChargeBytes(L, len(v))
		return append(packHeader(out, len(v), 0xa0, 32, 0xd9), v...)
	case lua.LBool:
		if v {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case lua.LNumber:
		return packNumber(out, float64(v))
	case *lua.LTable:
		if depth < maxPackDepth {
			return packTable(r, L, out, v, depth)
		}
	}
	return append(out, 0xc0)
}

// packHeader appends the size of a string, an array or a map: in one byte below a limit, or after a code.
func packHeader(out []byte, n int, small byte, limit int, code byte) []byte {
	switch {
	case n < limit:
		return append(out, small|byte(n))
	case n <= math.MaxUint8 && code == 0xd9:
		return append(out, code, byte(n))
	case n <= math.MaxUint16:
		if code == 0xd9 {
			code++
		}
		return binary.BigEndian.AppendUint16(append(out, code), uint16(n))
	}
	code++
	if code == 0xda {
		code++
	}
	return binary.BigEndian.AppendUint32(append(out, code), uint32(n))
}

func packNumber(out []byte, x float64) []byte {
	n := ctext.ToInt64(x)
	if float64(n) != x || x >= 1<<63 {
		if float := float32(x); float64(float) == x {
			return binary.BigEndian.AppendUint32(append(out, 0xca), math.Float32bits(float))
		}
		return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(x))
	}
	switch {
	case n >= -32 && n <= 127:
		return append(out, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		return append(out, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(n))
	case n >= 0:
		return binary.BigEndian.AppendUint64(append(out, 0xcf), uint64(n))
	case n >= math.MinInt8:
		return append(out, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(n))
}

func packTable(r *interpreter.Run, L *lua.LState, out []byte, t *lua.LTable, depth int) []byte {
	keys := r.PairsOf(L, t)
	if most, is := arrayLength(keys); is && most == len(keys) {
		out = packHeader(out, most, 0x90, 16, 0xdc)
		for i := 1; i <= most; i++ {
			out = pack(r, L, out, t.RawGet(interpreter.NumberValue(float64(i))), depth+1)
		}
		return out
	}
	out = packHeader(out, len(keys), 0x80, 16, 0xde)
	for _, key := range keys {
		out = pack(r, L, out, key, depth+1)
		out = pack(r, L, out, t.RawGet(key), depth+1)
	}
	return out
}

// arrayLength returns the largest of the keys, if all are whole numbers from 1.
func arrayLength(keys []lua.LValue) (most int, is bool) {
	for _, key := range keys {
		n, is := key.(lua.LNumber)
		if !is || n < 1 || float64(n) != math.Trunc(float64(n)) || n > 1<<31 {
			return 0, false
		}
		most = max(most, int(n))
	}
	return most, true
}

// unpacker reads MessagePack.
type unpacker struct {
	L    *lua.LState
	r    *interpreter.Run
	data string
}

// unpackValues returns up to limit values from an offset, after the offset of the rest; or all, for a limit of -1.
func unpackValues(L *lua.LState, limit, offset int) int {
	r := interpreter.Of(L)
	data := r.CheckString(L, 1)
	switch {
	case offset < 0 || limit < -1:
		r.Fail(L, "Invalid request to unpack with offset of %d and limit of %d.", offset, limit)
	case offset > len(data):
		r.Fail(L, "Start offset %d greater than input length %d.", offset, len(data))
	}
	u := unpacker{L, r, data[offset:]}
	var results []lua.LValue
	for len(u.data) > 0 && (limit < 0 || len(results) < limit) {
		results = append(results, u.value(0))
		if len(results) > interpreter.MaxUnpacked {
			r.Fail(L, "too many results to unpack")
		}
	}
	if limit >= 0 {
		rest := len(data) - len(u.data)
		if len(u.data) == 0 {
			rest = -1
		}
		results = append([]lua.LValue{interpreter.NumberValue(float64(rest))}, results...)
	}
	return interpreter.PushAll(L, results)
}

func (u *unpacker) take(n int) string {
	if n < 0 || n > len(u.data) {
		u.r.Fail(u.L, "Missing bytes in input.")
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

func (u *unpacker) value(depth int) lua.LValue {
	u.r.Charge(u.L, 3)
	if depth > maxUnpackDepth {
		u.bad()
	}
	c := u.take(1)[0]
	switch {
	case c < 0x80:
		return interpreter.NumberValue(float64(c))
	case c < 0x90:
		return u.mapping(int(c&15), depth)
	case c < 0xa0:
		return u.array(int(c&15), depth)
	case c < 0xc0:
		return u.text(int(c & 31))
	case c >= 0xe0:
		return lua.LNumber(int8(c))
	}
	switch c {
	case 0xc0:
		return lua.LNil
	case 0xc2:
		return lua.LFalse
	case 0xc3:
		return lua.LTrue
	case 0xc4, 0xc5, 0xc6:
		return u.text(int(u.unsigned(1 << (c - 0xc4))))
	case 0xd9, 0xda, 0xdb:
		return u.text(int(u.unsigned(1 << (c - 0xd9))))
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.unsigned(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.unsigned(8)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return interpreter.NumberValue(float64(u.unsigned(1 << (c - 0xcc))))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := uint(1) << (c - 0xd0)
		return interpreter.NumberValue(float64(int64(u.unsigned(int(size))<<(64-8*size)) >> (64 - 8*size)))
	case 0xdc, 0xdd:
		return u.array(int(u.unsigned(2<<(c-0xdc))), depth)
	case 0xde, 0xdf:
		return u.mapping(int(u.unsigned(2<<(c-0xde))), depth)
	}
	u.bad()
	return nil
}

func (u *unpacker) bad() { u.r.Fail(u.L, "Bad data format in input.") }

func (u *unpacker) text(n int) lua.LValue {
	text := u.take(n)
	u.r.ChargeBytes(u.L, n)
	return lua.LString(text)
}

func (u *unpacker) array(n, depth int) lua.LValue {
	t := &lua.LTable{Metatable: lua.LNil}
	for i := 1; i <= n; i++ {
		u.r.Set(u.L, t, interpreter.NumberValue(float64(i)), u.value(depth+1))
	}
	return t
}

func (u *unpacker) mapping(n, depth int) lua.LValue {
	t := &lua.LTable{Metatable: lua.LNil}
	for range n {
		u.r.Charge(u.L, 10)
		key := u.value(depth + 1)
		u.r.Set(u.L, t, key, u.value(depth+1))
	}
	return t
}
