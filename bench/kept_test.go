package main

import (
	"strings"
	"testing"
)

// A part of one run and a part of another are published together, unless the runs are of two commits. NaN is a figure,
// too.
func TestPartsOfSeveralRuns(t *testing.T) {
	dir, first := t.TempDir(), sampleReport()
	first.Figures[onlyServers].add(lua, "", p50, nan)
	run := func(r *Report) Kept {
		kept, err := readKept(dir, r)
		wantError(t, err, "")
		kept.add(r)
		wantError(t, kept.write(dir), "")
		return kept
	}
	run(first)
	second := sampleReport()
	second.OtherWork.Stolen, second.Only, second.Servers = 1, []string{"stint", "doors"}, nil
	second.Figures = map[string]Figures{"doors": {{doorCheck, fullLoad, cpu}: {7}}, onlyServers: {}}
	kept := run(second)
	all := kept.report(second)
	if got := all.Figures["doors"][Key{doorCheck, fullLoad, cpu}]; len(got) != 1 || got[0] != 7 {
		t.Errorf("doors: %v", got)
	}
	if got := all.Figures[onlyServers]; len(got) != len(first.Figures[onlyServers]) || !same(got.of(Key{lua, "", p50}, nil), nan) {
		t.Errorf("of the servers %d figures are kept", len(got))
	}
	if !all.OtherWork.IsTooMuch() {
		t.Error("the run that was disturbed is forgotten")
	}
	wantError(t, kept.checkComplete(Env{Settings: Settings{Only: []string{"cluster"}}}), "persistence, reservations, scripts")
	wantError(t, kept.checkComplete(Env{Settings: Settings{Only: []string{"cluster", "persistence", "reservations", "scripts"}}}), "")

	second.Machine.Commit = "another"
	if kept, err := readKept(dir, second); err != nil || len(kept.Parts) != 0 {
		t.Errorf("%v of another commit are kept, %v", kept.Parts, err)
	}
	wantError(t, Kept{}.checkComplete(Env{Settings: Settings{Only: []string{"stint"}}, Servers: second.Servers}), strings.Join([]string{"cluster", "doors"}, ", "))
}

// A checkout of redis-cell names its version.
func TestRedisCellNeedsACheckout(t *testing.T) {
	_, _, err := buildRedisCell(t.Context(), t.TempDir())
	wantError(t, err, "no Cargo.toml")
}
