package digits

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestAppend compares with strconv: numbers of every length, and those beside the powers of ten.
func TestAppend(t *testing.T) {
	same := func(n int64) {
		for _, n := range []int64{n, -n} {
			if got, want := string(Append([]byte("x"), n)), "x"+strconv.FormatInt(n, 10); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		}
	}
	for n := int64(1); n > 0 && n <= math.MaxInt64/10; n *= 10 {
		for d := int64(-2); d <= 2; d++ {
			same(n + d)
		}
	}
	same(math.MaxInt64)
	same(math.MinInt64)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		same(int64(r.Uint64() >> r.IntN(64)))
	}
}

// TestReadEights compares with strconv: texts of digits, which may end with something else.
func TestReadEights(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300_000 {
		text := []byte(strconv.FormatUint(r.Uint64()>>r.IntN(64), 10))
		text = append(text, strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)...)
		if i%4 > 0 { // a byte beside the digits, or any
			text[r.IntN(len(text))] = "/:.-p\x00\xb5\xff"[r.IntN(8)] ^ byte(i%4/3*r.IntN(256))
		}
		length := 0
		for length < min(len(text), 16) && text[length] >= '0' && text[length] <= '9' {
			length++
		}
		length &^= 7
		want, _ := strconv.ParseUint(string(text[:length]), 10, 64)
		n, got := ReadEights(text)
		if m, same := ReadEights(string(text)); n != want || got != length || m != want || same != length {
			t.Fatalf("%q reads as %d digits of %d, want %d of %d", text, got, n, length, want)
		}
	}
}
