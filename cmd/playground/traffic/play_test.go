package traffic

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The engine makes the decisions that the handbook states of each algorithm.
func TestPlay(t *testing.T) {
	steady := Load{Kind: "steady", PerSecond: 20, Seconds: 10, Work: 500 * time.Millisecond}
	for line, want := range map[string]struct{ granted, waiting, denied int }{
		"TB.ACQUIRE user:7 10 5/s":                {59, 0, 141},  // 10, and 5 a second for the 9.95 s until the last
		"TB.ACQUIRE user:7 10 5/s MAXWAIT 1s":     {13, 51, 136}, // a second ahead
		"LB.QUEUE user:7 10 5/s":                  {1, 59, 140},  // one every 0.2 s, also by 10 that wait at the end
		"FW.ACQUIRE user:7 5 1s":                  {50, 0, 150},
		"SL.ACQUIRE user:7 5 1s":                  {50, 0, 150},
		"CC.ACQUIRE user:7 5 30s any":             {100, 0, 100}, // 5 at a time, half a second each
		"RL.ALL TB a 10 5/s CC b 2 30s any":       {40, 0, 160},  // 2 at a time
		"TB.ACQUIRE user:7 1000000 1000000/s 100": {200, 0, 0},
	} {
		o, err := Play(line, steady)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := (struct{ granted, waiting, denied int }{o.Granted, o.Waiting, o.Denied}); got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
		var sum Bin
		for _, b := range o.Bins {
			sum.Granted, sum.Waiting, sum.Denied = sum.Granted+b.Granted, sum.Waiting+b.Waiting, sum.Denied+b.Denied
		}
		if sum.Granted != o.Granted || sum.Waiting != o.Waiting || sum.Denied != o.Denied {
			t.Errorf("%s: the parts come to %+v, and the whole is %+v", line, sum, want)
		}
		if (o.LongestWait > 0) != (o.Waiting > 0) || o.Callers != nil {
			t.Errorf("%s: %+v", line, o)
		}
	}
}

// A caller that asks for little gets all of it from a fair share, whatever the other asks for.
func TestPlayCallers(t *testing.T) {
	o, err := Play("FS.ACQUIRE pool 20 5/s {}", Load{Kind: "steady", PerSecond: 10, Seconds: 60, Work: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	want := Caller{Name: "quiet", Asked: 120, Granted: 120}
	if len(o.Callers) != 2 || o.Callers[1] != want || o.Callers[0].Granted > 5*60+20-120 {
		t.Errorf("%+v, want %+v", o.Callers, want)
	}
}

func TestErrors(t *testing.T) {
	good := Load{Kind: "random", PerSecond: 1, Seconds: 1, Work: time.Millisecond}
	for line, want := range map[string]string{
		"":                         "type a command",
		"TB.ACQUIRE user:7 10 x":   "got 'x'",
		"GET user:7":               "unknown command",
		"RL.INFO user:7":           "cannot be tried",
		"RL.CHECK api 7":           "cannot be tried",
		"RL.ALL TB a 1 1 TB a 1 1": "the same key",
	} {
		if _, err := Play(line, good); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", line, err, want)
		}
	}
	for _, bad := range []Load{
		{},
		{Kind: "steady", PerSecond: 201, Seconds: 1, Work: time.Second},
		{Kind: "other", PerSecond: 1, Seconds: 1, Work: time.Second},
	} {
		if _, err := Play("TB.ACQUIRE user:7 10 5/s", bad); err == nil {
			t.Errorf("%+v has no error", bad)
		}
	}
}

// Every kind of traffic has all of its requests, in order, within its time.
func TestArrivals(t *testing.T) {
	for kind := range places {
		all, err := Load{Kind: kind, PerSecond: 50, Seconds: 20, Work: time.Second}.arrivals()
		if err != nil || len(all) != 1000 || !slices.IsSorted(all) || all[0] < 0 || all[999] >= 20*time.Second {
			t.Errorf("%s: %d requests from %v to %v (%v)", kind, len(all), all[0], all[len(all)-1], err)
		}
	}
}
