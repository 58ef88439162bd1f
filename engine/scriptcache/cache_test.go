package scriptcache

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
)

// Called scripts give way to any other, the oldest first; loaded ones stay, and take no more than their bounds.
func TestRoomForScripts(t *testing.T) {
	body := func(i int) []byte { return append(fmt.Append(nil, i), make([]byte, engine.MaxScriptBytes-10)...) }
	const room = maxBytes / (engine.MaxScriptBytes - 9) // a body takes at least this
	var s Cache
	keep := func(i int, loaded, fits bool) {
		t.Helper()
		if got := s.Fits(body(i), loaded); got != fits {
			t.Fatalf("script %d: fits is %t", i, got)
		}
		if _, got := s.Keep(body(i), loaded); got != fits {
			t.Fatalf("script %d: kept is %t", i, got)
		}
	}
	kept := func(i int) bool {
		known, found := s.Find([]byte(Digest(body(i))))
		return found && bytes.Equal(known, body(i))
	}
	for i := range room + 1 {
		keep(i, false, true)
	}
	if kept(0) || !kept(1) || !kept(room) {
		t.Error("not the oldest called script went")
	}
	keep(1, true, true) // the oldest that is left
	if !kept(1) || !kept(room) {
		t.Error("a script that was loaded after its call is gone, or another for it")
	}
	for i := 2; i <= room; i++ {
		keep(i, true, true)
	}
	keep(room+1, true, false)
	keep(room+1, false, false)
	if !kept(1) || !kept(room) || kept(room+1) {
		t.Error("loaded scripts did not stay")
	}
	s.Clear()
	keep(room+1, true, true)

	s.Clear()
	for i := range MaxLoaded {
		s.Keep(fmt.Append(nil, i), true)
	}
	if s.Fits([]byte("one more"), true) || !s.Fits([]byte("one more"), false) {
		t.Error("the number of loaded scripts is not bounded, or that of called ones by it")
	}
	for i := range MaxCalled + 1 {
		s.Keep(fmt.Append(nil, "called ", i), false)
	}
	if _, found := s.Find([]byte(Digest([]byte("called 0")))); found || len(s.called) != MaxCalled {
		t.Errorf("%d called scripts are kept", len(s.called))
	}
}
