package script

import (
	"encoding/binary"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var structFunctions = map[string]lua.LGFunction{"pack": structPack, "unpack": structUnpack, "size": structSize}

// layout reads the format of the struct library.
type layout struct {
	L      *lua.LState
	r      *run
	format string
	at     int
	big    bool
	align  int
}

const (
	maxIntegerSize = 32
	maxAlign       = 8
)

func newLayout(L *lua.LState) *layout {
	r := runOf(L)
	format := r.checkString(L, 1)
	if end := strings.IndexByte(format, 0); end >= 0 {
		format = format[:end]
	}
	return &layout{L: L, r: r, format: format, align: 1}
}

func (f *layout) number(otherwise int) int {
	if f.at >= len(f.format) || !isDigit(f.format[f.at]) {
		return otherwise
	}
	n := 0
	for ; f.at < len(f.format) && isDigit(f.format[f.at]); f.at++ {
		n = n*10 + int(f.format[f.at]-'0')
		if n > math.MaxInt32 {
			f.r.fail(f.L, "integral size overflow")
		}
	}
	return n
}

// next returns the next option with its size, and the bytes to skip before it.
func (f *layout) next(position int) (option byte, size, skip int) {
	f.r.charge(f.L, 3)
	option = f.format[f.at]
	f.at++
	switch option {
	case 'b', 'B', 'x':
		size = 1
	case 'h', 'H':
		size = 2
	case 'f':
		size = 4
	case 'l', 'L', 'T', 'd':
		size = 8
	case 'c':
		return option, f.number(1), 0
	case 'i', 'I':
		if size = f.number(4); size > maxIntegerSize {
			f.r.fail(f.L, "integral size %d is larger than limit of %d", size, maxIntegerSize)
		}
	}
	if size > 0 {
		unit := min(size, f.align)
		skip = (unit - position&(unit-1)) & (unit - 1)
	}
	return option, size, skip
}

// control carries out an option without data.
func (f *layout) control(option byte) {
	switch option {
	case ' ':
	case '>':
		f.big = true
	case '<':
		f.big = false
	case '!':
		if f.align = f.number(maxAlign); f.align == 0 || f.align&(f.align-1) != 0 {
			f.r.fail(f.L, "alignment %d is not a power of 2", f.align)
		}
	default:
		f.r.badArgument(f.L, 1, "invalid format option '"+string([]byte{option})+"'")
	}
}

func (f *layout) order() binary.AppendByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (f *layout) appendInteger(out []byte, x float64, size int) []byte {
	n := toUint64(x)
	start := len(out)
	for range size {
		out = append(out, byte(n))
		n >>= 8
	}
	if f.big {
		for i, j := start, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}

func (f *layout) integer(data string, signed bool) float64 {
	var n uint64
	for i := range len(data) {
		at := i
		if !f.big {
			at = len(data) - 1 - i
		}
		n = n<<8 | uint64(data[at])
	}
	if !signed {
		return float64(n)
	}
	if bits := uint(len(data)) * 8; bits > 0 && bits < 64 {
		return float64(int64(n<<(64-bits)) >> (64 - bits))
	}
	return float64(int64(n))
}

func structPack(L *lua.LState) int {
	f := newLayout(L)
	L.Push(lua.LNil) // one argument too few is nil
	var out []byte
	arg := 1
	for f.at < len(f.format) {
		option, size, skip := f.next(len(out))
		out = append(out, make([]byte, skip)...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			arg++
			out = f.appendInteger(out, f.r.checkNumber(L, arg), size)
		case 'x':
			out = append(out, 0)
		case 'f':
			arg++
			out = f.order().AppendUint32(out, math.Float32bits(float32(f.r.checkNumber(L, arg))))
		case 'd':
			arg++
			out = f.order().AppendUint64(out, math.Float64bits(f.r.checkNumber(L, arg)))
		case 'c', 's':
			arg++
			text := f.r.checkString(L, arg)
			if size == 0 {
				size = len(text)
			}
			if len(text) < size {
				f.r.badArgument(L, arg+1, "string too short")
			}
			f.r.chargeBytes(L, size)
			out = append(out, text[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
		default:
			f.control(option)
		}
	}
	return pushString(L, string(out))
}

func structUnpack(L *lua.LState) int {
	f := newLayout(L)
	data := f.r.checkString(L, 2)
	position := f.r.optLong(L, 3, 1) - 1
	if position < 0 {
		f.r.badArgument(L, 3, "offset must be 1 or greater")
	}
	check := func(size int) {
		if size < 0 || size > len(data) || position > len(data)-size {
			f.r.badArgument(L, 2, "data string too short")
		}
	}
	var results []lua.LValue
	for f.at < len(f.format) {
		option, size, skip := f.next(position)
		position += skip
		check(size)
		if len(results) > maxUnpacked {
			f.r.fail(L, "stack overflow (too many results)")
		}
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			results = append(results, numberValue(f.integer(data[position:position+size], option >= 'a')))
		case 'x':
		case 'f':
			n := f.order().(binary.ByteOrder).Uint32([]byte(data[position : position+4]))
			results = append(results, lua.LNumber(math.Float32frombits(n)))
		case 'd':
			n := f.order().(binary.ByteOrder).Uint64([]byte(data[position : position+8]))
			results = append(results, lua.LNumber(math.Float64frombits(n)))
		case 'c':
			if size == 0 {
				if len(results) == 0 {
					f.r.fail(L, "format 'c0' needs a previous size")
				}
				previous, is := results[len(results)-1].(lua.LNumber)
				if !is {
					f.r.fail(L, "format 'c0' needs a previous size")
				}
				results = results[:len(results)-1]
				size = int(toInt64(float64(previous)))
				check(size)
			}
			f.r.chargeBytes(L, size)
			results = append(results, lua.LString(data[position:position+size]))
		case 's':
			size = strings.IndexByte(data[position:], 0)
			if size < 0 {
				f.r.fail(L, "unfinished string in data")
			}
			f.r.chargeBytes(L, size)
			results = append(results, lua.LString(data[position:position+size]))
			size++
		default:
			f.control(option)
		}
		position += size
	}
	return pushAll(L, append(results, numberValue(float64(position+1))))
}

func structSize(L *lua.LState) int {
	f := newLayout(L)
	position := 0
	for f.at < len(f.format) {
		option, size, skip := f.next(position)
		switch {
		case option == 's':
			f.r.badArgument(L, 1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			f.r.badArgument(L, 1, "option 'c0' has no fixed size")
		case !isDigit(option) && !isAlpha(option):
			f.control(option)
		}
		position += skip + size
	}
	return pushInt(L, position)
}
