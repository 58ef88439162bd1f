package stint_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// sharedOutages are the outages that the clients in all languages are tested with.
type sharedOutages struct {
	TimeoutMs int64 `json:"timeout_ms"`
	Calls     int
	LastsMs   int64              `json:"lasts_ms"`
	ToReachMs map[string]float64 `json:"to_reach_ms"`
	Outages   map[string]string
}

// TestSharedOutages: every call is decided by the fallback, the first few after they asked in vain and the others
// without asking; and when the server is back, it answers.
func TestSharedOutages(t *testing.T) {
	text, err := os.ReadFile("../vectors/outages.json")
	if err != nil {
		t.Fatal(err)
	}
	var shared sharedOutages
	if err := json.Unmarshal(text, &shared); err != nil {
		t.Fatal(err)
	}
	for name := range shared.Outages {
		t.Run(name, func(t *testing.T) {
			hangs := time.AfterFunc(2*bound, func() { panic("a call hangs in the outage: " + name) })
			defer hangs.Stop()
			playOutage(t, shared, name)
		})
	}
}

func playOutage(t *testing.T, shared sharedOutages, name string) {
	outage, is := sharedOutage(t, name)
	if !is {
		t.Fatal("the test has no such outage")
	}
	l := stint.Connect([]string{outage.address}, stint.FailOpen(), stint.Timeout(time.Duration(shared.TimeoutMs)*time.Millisecond))
	defer l.Close()
	waitFor(t, "it is answered", func() bool { return allow(t, l).Source == stint.Server })
	outage.fail(t)
	mayClose := name == "slow" // it answers a probe in the end
	times, asked := callsInOutage(t, l, 1+shared.Calls, mayClose)
	if asked == len(times) || asked > len(times)/10 && !mayClose {
		t.Errorf("%d of %d calls asked", asked, len(times))
	}
	time.Sleep(time.Duration(shared.LastsMs) * time.Millisecond) // probes fail
	if !l.Open() && !mayClose {
		t.Error("the breaker has closed")
	}
	outage.end(t)
	begun := time.Now()
	waitFor(t, "it is answered again", func() bool { return allow(t, l).Source == stint.Server })
	back, next := time.Since(begun), slices.Sorted(slices.Values(times[1:]))
	for figure, took := range map[string]time.Duration{"first": times[0], "next_p99": next[shared.Calls*99/100-1], "back": back} {
		t.Logf("%s: %.3f of %v ms", figure, float64(took)/float64(time.Millisecond), shared.ToReachMs[figure])
	}
	if taken := takenInOutage(t, l); taken > int64(asked) {
		t.Errorf("%d calls asked, and %d tokens were taken", asked, taken)
	}
}

// inOutage is the limit of the calls in an outage, under the test's name.
var inOutage = stint.Window(1_000_000, stint.Starting(24*time.Hour))

// callsInOutage makes calls one after the other, of which none asks once the breaker is open. It returns how long each
// took, and the number of those that asked.
func callsInOutage(t *testing.T, l *stint.Limiter, calls int, mayClose bool) (times []time.Duration, asked int) {
	t.Helper()
	wasOpen := false
	for i := range calls {
		begun := time.Now()
		r, err := l.Allow(t.Context(), t.Name()+"'", inOutage)
		times = append(times, time.Since(begun))
		isOpen := errors.Is(r.Cause, stint.ErrCircuitOpen)
		if err != nil || !r.Allowed || r.Source != stint.Fallback || !errors.Is(r.Cause, stint.ErrUnavailable) || i == 0 && isOpen {
			t.Fatalf("call %d: %+v, %v", i, r, err)
		}
		if !isOpen {
			asked++
		}
		if wasOpen && !isOpen && !mayClose {
			t.Fatalf("call %d asked after the breaker had opened: %+v", i, r)
		}
		wasOpen = isOpen
	}
	return times, asked
}

// takenInOutage is the number of tokens that calls in an outage have taken.
func takenInOutage(t *testing.T, l *stint.Limiter) (taken int64) {
	t.Helper()
	patient := l.With(stint.Timeout(generous))
	waitFor(t, "it tells what was taken", func() bool {
		r, err := patient.Peek(t.Context(), t.Name()+"'", inOutage, 1)
		taken = r.Limit - r.Remaining - 1
		return err == nil && r.Source == stint.Server
	})
	return taken
}

// sharedOutage prepares an outage of a separate server.
func sharedOutage(t *testing.T, name string) (outage, bool) {
	server := startServerAt(t, servertest.Reserved(t))
	proxy := startProxy(t, server.Address)
	do := func(act func()) func(*testing.T) { return func(*testing.T) { act() } }
	must := func(act func() error) func(*testing.T) {
		return func(t *testing.T) {
			if err := act(); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := map[string]outage{
		"killed":   {server.Address, do(server.Kill), func(t *testing.T) { startServerAt(t, server.Address) }},
		"stopped":  {server.Address, must(server.Pause), must(server.Resume)},
		"slow":     {proxy.Address, do(func() { proxy.Drip(15 * time.Millisecond) }), do(proxy.Heal)},
		"refusing": {proxy.Address, do(proxy.Refuse), do(proxy.Heal)},
		"lost":     {proxy.Address, do(proxy.Lose), do(proxy.Heal)},
	}
	o, is := all[name]
	return o, is
}
