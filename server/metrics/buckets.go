package metrics

import (
	"math"
	"math/bits"
	"slices"
)

// Latencies are counted in cells. A cell ends at every bound of Prometheus's native histogram, which has eight buckets
// for each power of two, and at every bound of the classic buckets, so that both histograms are exact sums of cells.
const (
	nativeSchema = 3       // 2^3 buckets for each power of two, so each is 9 % wide
	firstNative  = -20 * 8 // bucket of 2^-20 s, just under a microsecond; shorter times are in the zero bucket
	lastNative   = 6 * 8   // bucket of 64 s; it also counts longer times
	maxCells     = 256     // more than there are, so that a histogram can be an array
	nanosPerSec  = 1_000_000_000
)

// classicBounds are the upper bounds of the classic buckets, in nanoseconds.
var classicBounds = []int64{
	10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
	1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000,
	1_000_000_000, 2_500_000_000, 10_000_000_000,
}

var (
	cellBounds  = makeCellBounds() // the upper bound of each cell in nanoseconds, ascending
	cellNative  [maxCells]int      // the native bucket of each cell; firstNative stands for the zero bucket
	cellGuesses = makeGuesses()    // the lowest possible cell, by bit length and the three bits after the first
)

// nativeBound is the upper bound of a native bucket in seconds.
func nativeBound(bucket int) float64 { return math.Exp2(float64(bucket) / (1 << nativeSchema)) }

func makeCellBounds() []int64 {
	bounds := slices.Clone(classicBounds)
	for b := firstNative; b <= lastNative; b++ {
		bounds = append(bounds, int64(nativeBound(b)*nanosPerSec))
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	bucket := firstNative
	for i, most := range bounds {
		for int64(nativeBound(bucket)*nanosPerSec) < most {
			bucket++
		}
		cellNative[i] = bucket
	}
	return bounds
}

func makeGuesses() (guesses [64 * 8]uint8) {
	for i := range guesses {
		length, next := i/8, uint64(i%8)
		least := uint64(1)<<length | next<<length>>3
		cell, _ := slices.BinarySearch(cellBounds, int64(min(least, math.MaxInt64)))
		guesses[i] = uint8(min(cell, len(cellBounds)-1))
	}
	return guesses
}

// cellOf returns the cell of a latency. It begins with the lowest possible cell, and looks at most at the next few.
func cellOf(nanos int64) int {
	if nanos <= cellBounds[0] {
		return 0
	}
	length := bits.Len64(uint64(nanos)) - 1
	cell := int(cellGuesses[length*8+int(uint64(nanos)>>(length-3)&7)])
	for cell < len(cellBounds)-1 && nanos > cellBounds[cell] {
		cell++
	}
	return cell
}
