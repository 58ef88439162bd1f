package library

import (
	"math"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

var structFunctions = map[string]interpreter.GoFunction{"pack": structPack, "unpack": structUnpack, "size": structSize}

// layout reads the format of the struct library.
type layout struct {
	L      *interpreter.Thread
	format string
	at     int
	big    bool
	align  int
}

const (
	maxIntegerSize = 32
	maxAlign       = 8
)

func newLayout(L *interpreter.Thread) *layout {
	format := L.CheckString(1)
	if end := strings.IndexByte(format, 0); end >= 0 {
		format = format[:end]
	}
	return &layout{L: L, format: format, align: 1}
}

func (f *layout) number(otherwise int) int {
	if f.at >= len(f.format) || !ctext.IsDigit(f.format[f.at]) {
		return otherwise
	}
	n := 0
	for ; f.at < len(f.format) && ctext.IsDigit(f.format[f.at]); f.at++ {
		n = n*10 + int(f.format[f.at]-'0')
		if n > math.MaxInt32 {
			f.L.Fail("integral size overflow")
		}
	}
	return n
}

// next returns the next option with its size, and the bytes to skip before it.
func (f *layout) next(position int) (option byte, size, skip int) {
	f.L.Charge(3)
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
			f.L.Fail("integral size %d is larger than limit of %d", size, maxIntegerSize)
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
			f.L.Fail("alignment %d is not a power of 2", f.align)
		}
	default:
		f.L.BadArgument(1, "invalid format option '"+string([]byte{option})+"'")
	}
}

// append appends a number of some bytes in the order of the layout.
func (f *layout) append(out []byte, n uint64, size int) []byte {
	out = appendBytes(out, n, size)
	if !f.big {
		slices.Reverse(out[len(out)-size:])
	}
	return out
}

func (f *layout) read(data string) (n uint64) {
	for i := range len(data) {
		at := i
		if !f.big {
			at = len(data) - 1 - i
		}
		n = n<<8 | uint64(data[at])
	}
	return n
}

func structPack(L *interpreter.Thread) int {
	f := newLayout(L)
	L.Push(value.Nil) // one argument too few is nil
	var out []byte
	arg := 1
	for f.at < len(f.format) {
		option, size, skip := f.next(len(out))
		out = append(out, make([]byte, skip)...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			arg++
			out = f.append(out, ctext.ToUint64(f.L.CheckNumber(arg)), size)
		case 'x':
			out = append(out, 0)
		case 'f':
			arg++
			out = f.append(out, uint64(math.Float32bits(float32(storedNumber(f.L, f.L.CheckNumber(arg))))), size)
		case 'd':
			arg++
			out = f.append(out, math.Float64bits(storedNumber(f.L, f.L.CheckNumber(arg))), size)
		case 'c', 's':
			arg++
			text := f.L.CheckString(arg)
			if size == 0 {
				size = len(text)
			}
			f.L.Check(len(text) >= size, arg+1, "string too short")
			f.L.ChargeBytes(size)
			out = append(out, text[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
		default:
			f.control(option)
		}
	}
	return L.PushText(out)
}

func structUnpack(L *interpreter.Thread) int {
	f := newLayout(L)
	data := f.L.CheckString(2)
	position := f.L.OptLong(3, 1) - 1
	f.L.Check(position != -1, 3, "offset must be 1 or greater")
	check := func(size int) { // C has no offsets below 0
		f.L.Check(size >= 0 && size <= len(data) && position >= 0 && position <= len(data)-size, 2, "data string too short")
	}
	var results []value.Value
	for f.at < len(f.format) {
		option, size, skip := f.next(position)
		position += skip
		check(size)
		if len(results) > interpreter.MaxUnpacked {
			f.L.Fail("stack overflow (too many results)")
		}
		switch option {
		case 'b', 'h', 'l', 'i':
			results = append(results, value.Number(signed(f.read(data[position:position+size]), size)))
		case 'B', 'H', 'L', 'T', 'I':
			results = append(results, value.Number(float64(f.read(data[position:position+size]))))
		case 'x':
		case 'f':
			results = append(results, value.Number(float64(math.Float32frombits(uint32(f.read(data[position:position+size]))))))
		case 'd':
			results = append(results, value.Number(math.Float64frombits(f.read(data[position:position+size]))))
		case 'c':
			if size == 0 {
				last := len(results) - 1
				if last < 0 || !results[last].IsNumber() {
					f.L.Fail("format 'c0' needs a previous size")
				}
				size = int(ctext.ToInt64(results[last].Float()))
				results = results[:last]
				check(size)
			}
			f.L.ChargeBytes(size)
			results = append(results, value.String(data[position:position+size]))
		case 's':
			size = strings.IndexByte(data[position:], 0)
			if size < 0 {
				f.L.Fail("unfinished string in data")
			}
			f.L.ChargeBytes(size)
			results = append(results, value.String(data[position:position+size]))
			size++
		default:
			f.control(option)
		}
		position += size
	}
	return L.PushAll(append(results, value.Int(position+1)))
}

func structSize(L *interpreter.Thread) int {
	f := newLayout(L)
	position := 0
	for f.at < len(f.format) {
		option, size, skip := f.next(position)
		switch {
		case option == 's':
			f.L.BadArgument(1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			f.L.BadArgument(1, "option 'c0' has no fixed size")
		case !ctext.IsDigit(option) && !ctext.IsAlpha(option):
			f.control(option)
		}
		position += skip + size
	}
	return L.PushInt(position)
}
