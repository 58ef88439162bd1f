package metrics

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Every latency is in the cell whose bounds enclose it.
func TestCells(t *testing.T) {
	if len(cellBounds) > maxCells {
		t.Fatalf("%d cells", len(cellBounds))
	}
	last := len(cellBounds) - 1
	check := func(nanos int64) {
		t.Helper()
		cell := cellOf(nanos)
		if nanos > cellBounds[cell] && cell != last || cell > 0 && nanos <= cellBounds[cell-1] {
			t.Errorf("%d ns is in cell %d of %d to %d ns", nanos, cell, cellBounds[max(cell-1, 0)], cellBounds[cell])
		}
	}
	for _, bound := range cellBounds {
		for _, nanos := range []int64{bound - 1, bound, bound + 1} {
			check(nanos)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(random.Int64N(1 << random.IntN(63)))
	}
	check(0)
	check(math.MaxInt64)
}

// The bounds of both histograms are bounds of cells, so both are exact.
func TestBucketsAreSumsOfCells(t *testing.T) {
	bounds := map[int64]bool{}
	for i, b := range cellBounds {
		bounds[b] = true
		if nanos := int64(nativeBound(cellNative[i]) * nanosPerSec); b > nanos || i > 0 && cellBounds[i-1] < int64(nativeBound(cellNative[i]-1)*nanosPerSec) {
			t.Errorf("cell %d up to %d ns is in native bucket %d up to %d ns", i, b, cellNative[i], nanos)
		}
	}
	for _, b := range classicBounds {
		if !bounds[b] {
			t.Errorf("%d ns is no bound of a cell", b)
		}
	}
}

func TestRecorder(t *testing.T) {
	r := NewRecorder([]string{"get", "take"}, []bool{false, true})
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			tally := r.NewTally()
			for range 100 {
				tally.Granted(1, 2, 5)
				tally.Denied(1, 7)
				tally.Command(0, true)
				tally.Command(r.Unknown(), true)
				tally.Flush(int64(time.Millisecond))
				tally.Bytes(10, 20)
				_, _, _ = r.Read()
			}
			if !tally.IsEmpty() {
				t.Error("something is left after a flush")
			}
		})
	}
	wait.Wait()
	commands, received, sent := r.Read()
	if received != 20_000 || sent != 40_000 || len(commands) != 3 {
		t.Fatalf("%d bytes in, %d out, %d commands", received, sent, len(commands))
	}
	get, take, unknown := commands[0], commands[1], commands[2]
	if take.Latency.Count != 4000 || take.Granted != 2000 || take.Denied != 2000 || take.TokensGranted != 4000 || take.TokensDenied != 20_000 || take.Errors != 0 {
		t.Errorf("%+v", take)
	}
	if get.Errors != 2000 || get.Latency.SumNanos != 2000*int64(time.Millisecond) || unknown.Name != UnknownCommand || unknown.Errors != 2000 {
		t.Errorf("%+v %+v", get, unknown)
	}
	if n, denied := r.Rates(); n != 8000 || denied != 2000 {
		t.Errorf("%d commands, %d denied", n, denied)
	}
	if since := Since(commands, commands); len(since) != 0 {
		t.Errorf("between a reading and itself: %v", since)
	}
	if q := take.Latency.Quantile(0.5); q < int64(time.Millisecond) || q > int64(1100*time.Microsecond) {
		t.Errorf("the median of 1 ms is %d ns", q)
	}
	if n := take.Latency.AtMost(int64(time.Millisecond)); n != 4000 {
		t.Errorf("%d took at most 1 ms", n)
	}
	if n := take.Latency.AtMost(int64(500 * time.Microsecond)); n != 0 {
		t.Errorf("%d took at most 500 µs", n)
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := NewRecorder([]string{"take"}, []bool{true})
	tally := r.NewTally()
	turn := func() {
		tally.Granted(0, 1, 1)
		tally.Flush(1000)
	}
	turn()
	if n := testing.AllocsPerRun(1000, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
