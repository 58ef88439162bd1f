package library

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestTimes compares "%.0f" with strconv, which also rounds halves to even.
func TestTimes(t *testing.T) {
	times := formatPart{conversion: 'f'}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		x := math.Exp(r.Float64() * 46) // up to 10^20
		switch i % 3 {
		case 1:
			x = math.Trunc(x) + 0.5
		case 2:
			x = math.Trunc(x)
		}
		if got, want := string(times.float(nil, x)), strconv.FormatFloat(x, 'f', 0, 64); got != want {
			t.Fatalf("%v is written as %s, want %s", x, got, want)
		}
	}
}
