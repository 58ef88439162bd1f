//go:build e2e

package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Attacks on a server in a separate process, while a good client continues to ask. Here they are small and quick, and
// the test asserts answers, and the memory that the server accounts for. -attack-scale 10 makes them as large as those
// in docs/performance.md, and then the test asserts resident memory too, which depends on when Go collects garbage.
// Latencies are logged.
var (
	attackScale = flag.Int("attack-scale", 1, "how large attacks are; at 10 as large as in docs/performance.md")
	attackNice  = flag.Bool("attack-nice", false, "have the attackers take the processor only when others leave it some; needs root")
	floodRate   = flag.Int("flood-rate", 0, "keys a second of the flood; 0 is as many as the machine can")
)

// A flood of distinct keys, far more than there is room for: once memory is full its size does not change, and existing
// keys are limited exactly throughout. It is full long before half of the keys were sent, because more than half of
// them find no room; until then it goes up and down, since a growing shard exists twice for a moment.
func TestFloodOfKeys(t *testing.T) {
	keys, memory := 2_000_000*(*attackScale), int64(64<<20)*int64(*attackScale) // three times as many as there is room for
	if isFullSize() {
		keys, memory = 10_000_000**attackScale, int64(100<<20)*int64(*attackScale)
	}
	a := startTarget(t, "--max-memory", strconv.FormatInt(memory, 10), "--prefix-delimiters", ":")
	g := a.good("")
	var sent atomic.Int64
	var most, lowest, highest int64 // resident, of all the time, and of the second half of the keys
	var kept int64                  // the most memory of keys
	var began time.Time
	done := make(chan struct{})
	flood := func(thread int) {
		conn := a.dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		var out []byte
		for sent.Load() < int64(keys) {
			first := sent.Add(1000) - 1000
			out = out[:0]
			for i := range int64(1000) {
				out = fmt.Appendf(out, "*4\r\n$10\r\nTB.ACQUIRE\r\n$16\r\nip:%013d\r\n$2\r\n10\r\n$3\r\n1/h\r\n", first+i)
			}
			if _, err := conn.Write(out); err != nil {
				t.Error(err)
				return
			}
			if *floodRate > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(first) * time.Second / time.Duration(*floodRate))))
			}
		}
	}
	quiet := g.ask(5000)
	defer stepBack(t)()
	began = time.Now()
	var floods sync.WaitGroup
	for thread := range 2 {
		floods.Go(func() { flood(thread) })
	}
	go func() {
		defer close(done)
		for sent.Load() < int64(keys) {
			rss := a.resident()
			most, kept = max(most, rss), max(kept, a.info("keys_memory"))
			if sent.Load() > int64(keys)/2 {
				lowest, highest = min(cmp.Or(lowest, rss), rss), max(highest, rss)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	loud := g.ask(5000)
	floods.Wait()
	took := time.Since(began)
	<-done
	g.check()
	if kept > memory || kept == 0 {
		t.Errorf("%d MB of keys, and --max-memory is %d MB", kept>>20, memory>>20)
	}
	if isFullSize() && most > memory {
		t.Errorf("%d MB resident, and --max-memory is %d MB", most>>20, memory>>20)
	}
	if isFullSize() && (highest-lowest > highest/20 || lowest == 0) {
		t.Errorf("%d to %d MB resident in the second half: that is not flat within 5 %%", lowest>>20, highest>>20)
	}
	shared, denied := a.info("new_keys_shared_limiter"), a.info("new_keys_shared_limiter_denied")
	if shared < int64(keys)/2 {
		t.Errorf("%d of %d keys were beyond the memory", shared, keys)
	}
	if granted := shared - denied; granted < 10 || granted > 12 {
		t.Errorf("the keys that shared a limiter of 10 were granted %d", granted)
	}
	t.Logf("%d keys through %d MB: %.1f to %.1f MB resident in the second half, %.1f MB at most; %d keys kept", keys, memory>>20,
		float64(lowest)/(1<<20), float64(highest)/(1<<20), float64(most)/(1<<20), int64(keys)-shared)
	t.Logf("%v without, %v under the flood of %.0f keys a second (p99 %.1f times)", quiet, loud, float64(keys)/took.Seconds(), float64(loud.p99)/float64(quiet.p99))
}

// isFullSize reports whether attacks are as large as in docs/performance.md: only then are they judged by resident
// memory.
func isFullSize() bool { return *attackScale >= 10 }

// flat is the memory bound of connections in all of the attacks below, far below the memory that they try to take.
func flat(base, connections int64) int64 { return base + connections*24<<10 + 48<<20 }

// each runs a test with clients that are logged in, and with others.
func each(t *testing.T, test func(t *testing.T, login string, args []string)) {
	t.Run("logged in", func(t *testing.T) { test(t, "", nil) })
	t.Run("not logged in", func(t *testing.T) { test(t, "AUTH tea", []string{"--requirepass", "tea"}) })
}

// Connections that never finish a command, one byte at a time.
func TestSlowloris(t *testing.T) {
	each(t, func(t *testing.T, login string, args []string) {
		n := 1000 * *attackScale
		wantFiles(t, uint64(n+1000))
		a := startTarget(t, append(args, "--max-clients", strconv.Itoa(n+100), "--max-clients-per-address", strconv.Itoa(n+100))...)
		g, base := a.good(login), a.resident()
		a.during(g, slowloris(n), base, flat(base, int64(n)))
	})
}

// Clients that send commands without end and never read the answers.
func TestDeafClients(t *testing.T) {
	each(t, func(t *testing.T, login string, args []string) {
		n := 100 * *attackScale
		a := startTarget(t, append(args, "--client-memory", "32mb")...)
		g, base := a.good(login), a.resident()
		a.during(g, deafClients(n), base, base+3*32<<20+48<<20+int64(n)*64<<10) // and the first buffer of each
	})
}

// Headers that promise gigabytes.
func TestHugeLengths(t *testing.T) {
	a := startTarget(t)
	g, base := a.good(""), a.resident()
	a.during(g, hugeLengths, base, flat(base, 0))
}

// Clients that connect and leave, 5000 a second at full scale.
func TestReconnectStorm(t *testing.T) {
	a := startTarget(t)
	g, base := a.good(""), a.resident()
	a.during(g, reconnects(500**attackScale), base, flat(base, 0))
}
