package ctext

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestDecimal compares numbers of scripts with strconv, near the places where rounding turns.
func TestDecimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400_000 {
		x := math.Trunc(math.Exp(r.Float64()*36)) / float64(powersOfTen[r.IntN(12)])
		switch i % 4 {
		case 1:
			x = r.Float64() * float64(powersOfTen[r.IntN(16)])
		case 2: // half-way between two texts
			x = float64(r.IntN(1<<20)) + float64(r.IntN(1<<16))/(1<<16)
		case 3: // all nines
			x = math.Nextafter(float64(powersOfTen[r.IntN(16)]), float64(r.IntN(2))*1e300)
		}
		if i%3 == 0 {
			x = -x
		}
		for _, precision := range []int{14, 17, 1 + r.IntN(14)} {
			want := strconv.FormatFloat(x, 'g', precision, 64)
			if got, ok := appendDecimal(nil, x, precision); ok && string(got) != want {
				t.Fatalf("%v with %d digits: %s, want %s", x, precision, got, want)
			}
		}
		text := strconv.FormatFloat(math.Abs(x), 'f', r.IntN(18), 64)
		if i%5 == 0 {
			text = strconv.FormatUint(r.Uint64()>>r.IntN(60), 10)
			at := r.IntN(len(text) + 1)
			text = text[:at] + "." + text[at:]
		}
		want, _ := strconv.ParseFloat(text, 64)
		if got, ok := ReadShort(text); ok && got != want {
			t.Fatalf("%s reads as %v, want %v", text, got, want)
		}
	}
}

// TestWholeNumbers compares whole numbers with strconv, such as the times in microseconds that scripts pass to commands.
func TestWholeNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		x := float64(int64(r.Uint64()) >> r.IntN(64))
		for _, precision := range []int{14, 17} {
			want := strconv.FormatFloat(x, 'g', precision, 64)
			if got := string(AppendNumber(nil, x, precision)); got != want {
				t.Fatalf("%v with %d digits: %s, want %s", x, precision, got, want)
			}
		}
	}
	for _, x := range []float64{1e14 - 1, 1e14, 1e17 - 16, 1e17, 1e17 + 16} {
		for _, x := range []float64{x, -x} {
			if got, want := string(AppendNumber(nil, x, 17)), strconv.FormatFloat(x, 'g', 17, 64); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}
