package denials

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Any second has at most as many events as are wanted, whatever the number of denials and of goroutines, and all other
// denials are counted.
func TestEventsAreBounded(t *testing.T) {
	var e Events
	var mu sync.Mutex
	var times []int64
	var all sync.WaitGroup
	clock := int64(1e18)
	for range 25 { // rounds, so that no goroutine has a time that is a second late, as if the clock had been set back
		for range 4 {
			all.Go(func() {
				for range 1000 {
					now := atomic.AddInt64(&clock, int64(25*time.Microsecond))
					if e.Due(now, 10) {
						mu.Lock()
						times = append(times, now)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
	}
	if n := len(times); n < 20 || n > 26 {
		t.Errorf("%d events in 2.5 seconds", n)
	}
	if _, leftOut := e.Counts(); leftOut != 100_000-int64(len(times)) {
		t.Errorf("%d left out beside %d", leftOut, len(times))
	}
	if !e.Due(1e17, 10) {
		t.Error("a clock that was set back silences the events")
	}
}

func TestAttributes(t *testing.T) {
	var out bytes.Buffer
	e := Events{Log: slog.New(slog.NewTextHandler(&out, nil))}
	for now := range int64(3) {
		if e.Due(1e18+now, 1) {
			continue
		}
	}
	e.Write(&Event{Command: "RL.CHECK", RejectedBy: "api:1", Policy: "api", Key: "user:7", Limit: 10, Remaining: 2, Tokens: 3, WaitMillis: 500})
	want := `msg=denied rate_limit.decision=denied rate_limit.rejected_by=api:1 rate_limit.command=RL.CHECK rate_limit.policy=api rate_limit.key=user:7 ` +
		`rate_limit.limit=10 rate_limit.remaining=2 rate_limit.tokens=3 rate_limit.wait_ms=500 rate_limit.left_out=2`
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	e.Write(&Event{Command: "TB.ACQUIRE", RejectedBy: "token-bucket", WaitMillis: -1})
	if text := out.String(); strings.Contains(text, "policy") || strings.Contains(text, "key") || !strings.Contains(text, "rate_limit.left_out=0") {
		t.Errorf("%s", text)
	}
}
