package resp

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads a pipeline of commands, and of PINGs with a payload that makes them as long.
func BenchmarkRead(b *testing.B) {
	const throttle = "*5\r\n$11\r\nCL.THROTTLE\r\n$16\r\nkey:000000012345\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n"
	const acquire = "*4\r\n$10\r\nTB.ACQUIRE\r\n$16\r\nkey:000000012345\r\n$2\r\n15\r\n$5\r\n30/60\r\n"
	for _, c := range []struct{ name, command string }{
		{"CL.THROTTLE", throttle}, {"PING as long as CL.THROTTLE", pingOf(len(throttle))},
		{"TB.ACQUIRE", acquire}, {"PING as long as TB.ACQUIRE", pingOf(len(acquire))},
	} {
		b.Run(c.name, func(b *testing.B) {
			const pipeline = 64
			in := []byte(strings.Repeat(c.command, pipeline))
			r := Reader{Limits: Limits{MaxArgs: 100, MaxBulk: 1000, MaxInline: 1000}}
			b.ReportAllocs()
			for b.Loop() {
				for at := 0; at < len(in); {
					_, length, err := r.Next(in[at:])
					if length == 0 {
						b.Fatal(err)
					}
					at += length
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pipeline, "ns/command")
		})
	}
}

// pingOf is a PING of a length.
func pingOf(length int) string {
	for size := range length {
		if ping := fmt.Sprintf("*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size)); len(ping) == length {
			return ping
		}
	}
	panic("no PING has this length")
}

// BenchmarkWrite writes the replies to a pipeline of CL.THROTTLE, and those to PINGs with a payload that makes them as
// long.
func BenchmarkWrite(b *testing.B) {
	throttle := func(w *Writer) {
		w.Integers(0, 16, 12, -1, 6)
	}
	var w Writer
	throttle(&w)
	payload := []byte(strings.Repeat("x", len(w.Buf)-len("$00\r\n\r\n")))
	for _, c := range []struct {
		name  string
		write func(*Writer)
	}{
		{"CL.THROTTLE", throttle}, {"PING as long as CL.THROTTLE", func(w *Writer) { w.Bulk(payload) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			const pipeline = 64
			b.ReportAllocs()
			for b.Loop() {
				w.Buf = w.Buf[:0]
				for range pipeline {
					c.write(&w)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pipeline, "ns/command")
		})
	}
}
