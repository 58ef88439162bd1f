package main

import (
	"strings"
	"testing"
	"time"
)

func TestOtherWork(t *testing.T) {
	all, stolen, err := parseCPULine("cpu  100 20 30 1000 5 6 7 8 0 0\ncpu0 1 2 3\n")
	if err != nil || all != 1500*time.Millisecond || stolen != 80*time.Millisecond {
		t.Errorf("%v and %v, %v", all, stolen, err)
	}
	for _, text := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu a 2 3 4 5 6 7 8"} {
		if _, _, err := parseCPULine(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	begin := cpuUse{at: time.Unix(0, 0)}
	end := cpuUse{at: time.Unix(10, 0), all: 9 * time.Second, own: 9 * time.Second}
	if o := end.since(begin); o.Processes != 0 || o.IsTooMuch() {
		t.Errorf("its own work: %+v", o)
	}
	end.all += time.Hour
	if o := end.since(begin); !o.IsTooMuch() {
		t.Errorf("others' work: %+v", o)
	}
}

// A busy machine gives figures, and no verdicts.
func TestBusyMachineJudgesNothing(t *testing.T) {
	r := sampleReport()
	r.OtherWork.Processes = 0.5
	text := markdown(r)
	_, targets, _ := strings.Cut(text, "## Goals")
	if strings.Contains(targets, met) || strings.Contains(targets, "above") || !strings.Contains(targets, "busy") || !strings.Contains(text, "no goal is judged") {
		t.Error(text)
	}
}

func TestCPUOfOwnProcessesIsOwn(t *testing.T) {
	before, err := readCPUUse(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after.own-before.own < 20*time.Millisecond; { // or the test never ends
		if after, err = readCPUUse(t.Context(), nil); err != nil || after.all < before.all {
			t.Fatalf("%+v, then %+v, %v", before, after, err)
		}
	}
}
