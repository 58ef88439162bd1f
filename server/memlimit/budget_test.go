package memlimit

import (
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
)

const mb = 1 << 20

var testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// budgetAt plays readings of the heap on a budget of 128 MB: seconds, memory that Go takes, and
// in it the buffers of clients and free memory.
func budgetAt(cfg *config.Config, readings ...[4]int64) *budget {
	b := &budget{program: 12 * mb}
	for _, r := range readings {
		for at := r[0] * 1000; at < (r[0]+1)*1000; at += 100 {
			b.divide(cfg, testStart.UnixNano()+at*int64(time.Millisecond), 0, goMemory{taken: r[1] * mb, idle: r[3] * mb}, r[2]*mb)
		}
	}
	return b
}

// A peak of the heap takes room from keys while it lasts and for a few seconds; a minute later they have all of it
// again.
func TestBudgetForgetsPeaks(t *testing.T) {
	cfg := config.Default()
	cfg.MaxMemoryBytes = 128 * mb
	quiet := budgetAt(&cfg, [4]int64{0, 8, 0}).keys
	if quiet < 90*mb || quiet > 100*mb {
		t.Errorf("keys may take %d MB of a quiet server's 128", quiet/mb)
	}
	var attack [][4]int64
	for i := range int64(60) {
		attack = append(attack, [4]int64{i, 80, 8})
	}
	if during := budgetAt(&cfg, attack...).keys; during > quiet-50*mb {
		t.Errorf("keys may take %d MB while the heap takes 80 of 128", during/mb)
	}
	for _, later := range []int64{61, 75} {
		if after := budgetAt(&cfg, append(attack, [4]int64{later, 8, 0})...).keys; (after == quiet) != (later == 75) {
			t.Errorf("second %d: keys may take %d MB, and %d before", later, after/mb, quiet/mb)
		}
	}
}

// Code that runs for the first time, long after the start, takes its memory from keys and heap.
func TestBudgetFollowsTheProgram(t *testing.T) {
	cfg := config.Default()
	cfg.MaxMemoryBytes = 128 * mb
	b := &budget{others: 4 * mb}
	b.noteProgram(16 * mb)
	b.divide(&cfg, testStart.UnixNano(), 0, goMemory{taken: 8 * mb}, 0)
	keys, available := b.keys, b.available()
	b.noteProgram(19 * mb)
	b.noteProgram(18 * mb) // the system may forget pages, and reads them again
	b.divide(&cfg, testStart.UnixNano(), 0, goMemory{taken: 8 * mb}, 0)
	if keys-b.keys != 3*mb || available-b.available() != 3*mb {
		t.Errorf("keys may take %d MB less and the heap %d MB, want 3", (keys-b.keys)/mb, (available-b.available())/mb)
	}
}

// Buffers of clients use the room that is set aside for them: keys do not lose it again when they fill up.
func TestBudgetSetsBuffersAside(t *testing.T) {
	cfg := config.Default()
	cfg.MaxMemoryBytes = 128 * mb
	quiet, used := budgetAt(&cfg, [4]int64{0, 8, 0}).keys, budgetAt(&cfg, [4]int64{0, 8, 0}, [4]int64{1, 19, 8}, [4]int64{30, 19, 8}).keys
	if used < quiet-4*mb {
		t.Errorf("keys may take %d MB with full buffers, %d without", used/mb, quiet/mb)
	}
	cfg.ClientBytes = 32 * mb
	if large := budgetAt(&cfg, [4]int64{0, 8, 0}).keys; large != quiet-36*mb {
		t.Errorf("keys may take %d MB with 32 MB for buffers, %d with 8", large/mb, quiet/mb)
	}
}

// Free memory that Go does not return serves the buffers of clients: a quiet server's keys do not lose it.
func TestBudgetCountsFreeMemoryOnce(t *testing.T) {
	cfg := config.Default()
	cfg.MaxMemoryBytes = 128 * mb
	quiet, kept := budgetAt(&cfg, [4]int64{0, 8, 0, 0}).keys, budgetAt(&cfg, [4]int64{0, 17, 0, 9}).keys
	if kept != quiet {
		t.Errorf("keys may take %d MB while Go keeps 9 MB free, %d MB otherwise", kept/mb, quiet/mb)
	}
}

// Garbage, such as the large replies that somebody asks for, leaves new keys their room: at any moment some of it, and
// all of it within a few rounds of the collector.
func TestBudgetHasGarbageMakeWay(t *testing.T) {
	cfg := config.Default()
	cfg.MaxMemoryBytes = 128 * mb
	b := &budget{program: 12 * mb}
	limit, now := int64(0), testStart.UnixNano()
	c := collector{set: func(bytes int64) { limit = bytes }, rate: func(int) {}}
	round := func(keys, taken, live int64) {
		now += int64(heapSpanFor) // garbage lies longer than is looked back on
		b.divide(&cfg, now, keys, goMemory{taken: taken, objects: taken, live: live}, 0)
		c.setLimit(b.available()-keys-b.growth, live)
	}
	round(5*mb, 8*mb, 4*mb)
	for keys := 5 * int64(mb); keys < 80*mb; keys = b.keys {
		round(keys, limit, 4*mb) // as much garbage as Go was allowed before keys grew
		round(keys, limit, 4*mb)
		if b.keys < keys+b.total/growthShare*3/4 {
			t.Fatalf("keys of %d MB may grow to %d MB beside %d MB of garbage", keys/mb, b.keys/mb, limit/mb)
		}
	}
	round(5*mb, 110*mb, 110*mb)
	if b.keys > 4*mb {
		t.Errorf("keys may take %d MB although the heap uses 110 of 128", b.keys/mb)
	}
}

// The clock may go back, and nothing may be looked at for long.
func TestRecentHeap(t *testing.T) {
	var h recentHeap
	start := testStart.UnixNano()
	sec := int64(time.Second)
	for _, step := range []struct{ at, taken, without, least, most int64 }{
		{0, 10, 8, 8, 10}, {1, 50, 5, 5, 50}, {10, 20, 20, 5, 50}, {19, 20, 20, 5, 50}, {26, 20, 20, 20, 20},
		{1000, 7, 7, 7, 7}, {500, 9, 9, 9, 9}, {501, 8, 8, 8, 9},
	} {
		h.note(start+step.at*sec, step.taken, step.without)
		if least, most := h.bounds(); least != step.least || most != step.most {
			t.Errorf("at %d s: %d to %d, want %d to %d", step.at, least, most, step.least, step.most)
		}
	}
}

// Memory that Go holds and does not need is returned, at most once every scavengeInterval; the limit that is set
// follows what keys leave, and is never so low that it does nothing but collect. In little memory, less garbage may lie about.
func TestCollector(t *testing.T) {
	freed, limits := 0, []int64(nil)
	var percents []int
	c := collector{set: func(limit int64) { limits = append(limits, limit) }, rate: func(percent int) { percents = append(percents, percent) }, free: func() int64 { freed++; return 9 * mb }, floor: 8 * mb}
	now := testStart.UnixNano()
	tidy := func(after time.Duration, taken int64) {
		now += int64(after)
		c.scavenge(now, 8*mb+taken, 128*mb)
		c.running.Wait()
	}
	for _, step := range []struct {
		after time.Duration
		taken int64
		freed int
	}{{0, mb, 0}, {0, 5 * mb, 1}, {time.Second, 50 * mb, 1}, {scavengeInterval - time.Second, 50 * mb, 2}, {time.Hour, 3 * mb, 2}} {
		if tidy(step.after, step.taken); freed != step.freed {
			t.Errorf("%v later, %d MB more: given back %d times, want %d", step.after, step.taken/mb, freed, step.freed)
		}
	}
	for _, room := range []int64{100, 100, 99, 40, 1, -5} {
		c.setLimit(room*mb, 20*mb)
	}
	if want := []int64{100 * mb, 40 * mb, 33 * mb}; len(limits) != 3 || limits[0] != want[0] || limits[1] != want[1] || limits[2] != want[2] {
		t.Errorf("Go was told %d, want %d", limits, want)
	}
	for _, live := range []int64{1, 4, 8, 15, 500} {
		c.setLimit(1024*mb, live*mb)
	}
	c.setLimit(256*mb, 2*mb)
	if want := []int{100, 50, 800, 400, 200, 106, 200}; !slices.Equal(percents, want) { // 100 again is too close to 106
		t.Errorf("Go was told to let garbage grow to %d percent, want %d", percents, want)
	}
}

// The start counts as a peak, although a collection before the next look may have freed most of that memory.
func TestPeakIncludesTheStart(t *testing.T) {
	b := &budget{}
	b.start(1 << 20)
	if b.startup == 0 || b.peak < b.startup {
		t.Errorf("started with %d bytes, peak %d", b.startup, b.peak)
	}
}
