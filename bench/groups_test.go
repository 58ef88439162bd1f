package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/slot"
)

func TestLeadsAreRead(t *testing.T) {
	text := "a 127.0.0.1:61@71 myself,master - 0 1 2 connected 0-5461\nb 127.0.0.1:6@72 master - 0 1 2 connected 10923-16383\nc 127.0.0.1:0@73 master,fail - 0 1 2 disconnected 5462-10922\n"
	if got := parseLeads(text, []string{"127.0.0.1:6", "127.0.0.1:61"}, 3); !slices.Equal(got, []int{1, -1, 0}) {
		t.Errorf("the groups are led by %v", got)
	}
}

func TestSpreadCountsNodesThatRun(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	inst := &Instance{Nodes: []string{"a", "b", "c"}, processes: []*process{{ended: make(chan struct{})}, {ended: ended}, {ended: make(chan struct{})}}}
	for _, step := range []struct {
		leads  []int
		spread int
		all    bool
	}{
		{[]int{0, 0, 2}, 1, true},
		{[]int{0, 0, 0}, 3, true},
		{[]int{0, 1, 2}, 0, false},
		{[]int{0, -1, 2}, 0, false},
	} {
		if spread, all := spreadOf(inst, step.leads); spread != step.spread || all != step.all {
			t.Errorf("%v: %d, %v", step.leads, spread, all)
		}
	}
}

// A probe has a key in each group, and sees waits that have ended and those that last.
func TestProbe(t *testing.T) {
	p := newProbe("x")
	for i, tag := range p.tags {
		if at := slot.GroupOf(slot.Of([]byte(p.name+"-open"+tag)), probeGroups); at != i+1 {
			t.Errorf("%s is in group %d, not %d", tag, at, i+1)
		}
	}
	p.sent("one", 2, openKey)
	p.since["one"] = waiting{2, time.Now().Add(-time.Minute)}
	p.answered("one", 2, openKey, 0) // an error
	p.sent("one", 2, openKey)
	if got := p.look()[2]; got < time.Minute {
		t.Errorf("it waits for %v", got)
	}
	p.answered("one", 2, openKey, 1)
	for range probeLimit + 3 {
		p.answered("one", 4, exactKey, 1)
	}
	if got := p.look()[2]; got < time.Minute {
		t.Errorf("it waited for %v", got)
	}
	if got := p.look()[2]; got != 0 || p.beyondLimits() != 3 {
		t.Errorf("then %v, and %d beyond the limit", got, p.beyondLimits())
	}
}

// The parts of one name are measured with it, and each by its own.
func TestPartsOfGroups(t *testing.T) {
	for only, want := range map[string]int{"groups": 7, "groups-kill": 1} {
		e := Env{Settings: Settings{Only: []string{only}}}
		if _, err := e.pick(nil); err != nil {
			t.Error(err)
		}
		if got := len(slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return !p.isMeasured(e) })); got != want {
			t.Errorf("%s: %d parts, want %d", only, got, want)
		}
	}
}
