package stint_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// TestSharedOutages plays the outages that the clients in all languages are tested with.
func TestSharedOutages(t *testing.T) {
	text, err := os.ReadFile("../vectors/outages.json")
	if err != nil {
		t.Fatal(err)
	}
	var shared struct {
		TimeoutMs    int64 `json:"timeout_ms"`
		Calls        int
		LastsMs      int64              `json:"lasts_ms"`
		ToReachMs    map[string]float64 `json:"to_reach_ms"`
		HangsAboveMs map[string]float64 `json:"hangs_above_ms"`
		Outages      map[string]string
	}
	if err := json.Unmarshal(text, &shared); err != nil {
		t.Fatal(err)
	}
	for name := range shared.Outages {
		t.Run(name, func(t *testing.T) {
			outage, is := sharedOutage(t, name)
			if !is {
				t.Fatal("the test has no such outage")
			}
			l := stint.Connect([]string{outage.address}, stint.FailOpen(), stint.Timeout(time.Duration(shared.TimeoutMs)*time.Millisecond))
			defer l.Close()
			waitFor(t, "it is answered", func() bool { return allow(t, l).Source == stint.Server })
			outage.fail(t)
			var times []time.Duration
			var last stint.Result
			for range 1 + shared.Calls {
				begun := time.Now()
				last = allow(t, l)
				times = append(times, time.Since(begun))
				if !last.Allowed || last.Source != stint.Fallback {
					t.Fatalf("%+v", last)
				}
			}
			if !errors.Is(last.Cause, stint.ErrCircuitOpen) {
				t.Errorf("the last call: %v", last.Cause)
			}
			time.Sleep(time.Duration(shared.LastsMs) * time.Millisecond)
			outage.end(t)
			begun := time.Now()
			waitFor(t, "it is answered again", func() bool { return allow(t, l).Source == stint.Server })
			back, next := time.Since(begun), slices.Sorted(slices.Values(times[1:]))
			for figure, took := range map[string]time.Duration{"first": times[0], "next_p99": next[shared.Calls*99/100-1], "back": back} {
				ms := float64(took) / float64(time.Millisecond)
				t.Logf("%s: %.3f of %v ms", figure, ms, shared.ToReachMs[figure])
				if ms > shared.HangsAboveMs[figure] {
					t.Errorf("%s: it hangs", figure)
				}
			}
		})
	}
}

// sharedOutage prepares an outage of a server of its own.
func sharedOutage(t *testing.T, name string) (outage, bool) {
	server := startServer(t)
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
