package resp

import (
	"math"
	"strconv"
	"testing"
)

func TestWriter(t *testing.T) {
	for _, c := range []struct {
		name         string
		write        func(w *Writer)
		resp2, resp3 string
	}{
		{"int", func(w *Writer) { w.Int(-9223372036854775808) }, ":-9223372036854775808\r\n", ""},
		{"bool", func(w *Writer) { w.Bool(true); w.Bool(false) }, ":1\r\n:0\r\n", ""},
		{"bulk", func(w *Writer) { w.Bulk([]byte("a\r\n\x00\xff")) }, "$5\r\na\r\n\x00\xff\r\n", ""},
		{"empty bulk", func(w *Writer) { w.BulkString("") }, "$0\r\n\r\n", ""},
		{"status", func(w *Writer) { w.Status("OK") }, "+OK\r\n", ""},
		{"array", func(w *Writer) { w.Array(2); w.Array(0); w.Int(1) }, "*2\r\n*0\r\n:1\r\n", ""},
		{"null", (*Writer).Null, "$-1\r\n", "_\r\n"},
		{"map", func(w *Writer) { w.Map(2) }, "*4\r\n", "%2\r\n"},
		{"set", func(w *Writer) { w.Set(3) }, "*3\r\n", "~3\r\n"},
		{"double", func(w *Writer) { w.Double(99.25) }, "$5\r\n99.25\r\n", ",99.25\r\n"},
		{"verbatim", func(w *Writer) { w.Verbatim("a\nb") }, "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"},
		{"error", func(w *Writer) { w.Error("ERR a\r\nb\nc\rd") }, "-ERR a  b c d\r\n", ""},
	} {
		if c.resp3 == "" {
			c.resp3 = c.resp2
		}
		for version, want := range map[bool]string{false: c.resp2, true: c.resp3} {
			w := Writer{RESP3: version}
			if c.write(&w); string(w.Buf) != want {
				t.Errorf("%s, RESP3 %v: %q, want %q", c.name, version, w.Buf, want)
			}
		}
	}
}

// An Int has the digits of its number.
func TestInt(t *testing.T) {
	for n := int64(0); n < 2e8; n += 1 + n/1000 {
		var w Writer
		if w.Int(n); string(w.Buf) != ":"+strconv.FormatInt(n, 10)+"\r\n" {
			t.Fatalf("%d: %q", n, w.Buf)
		}
	}
}

// Integers are an array of Ints, whatever room the buffer has.
func TestIntegers(t *testing.T) {
	values := []int64{0, 9, 10, 99, 100, 999, 1000, 10_000, 12_345_678, 99_999_999, 1e8, -1, -2, -9, -10, 1e12, math.MaxInt64, math.MinInt64}
	for room := range 200 {
		for count := range len(values) + 1 {
			got, want := Writer{Buf: make([]byte, 0, room)}, Writer{}
			got.Integers(values[:count]...)
			want.Array(count)
			for _, n := range values[:count] {
				want.Buf = append(strconv.AppendInt(append(want.Buf, ':'), n, 10), "\r\n"...)
			}
			if string(got.Buf) != string(want.Buf) {
				t.Fatalf("%q, want %q", got.Buf, want.Buf)
			}
		}
	}
}
