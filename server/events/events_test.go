package events

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stintdb/stint/internal/clusterstatus"
)

// A log keeps the last events, and their texts within bounds.
func TestLogIsBounded(t *testing.T) {
	var l Log
	for i := range 3 * Kept {
		l.Add(clusterstatus.Event{At: int64(i), Kind: Leader, Text: fmt.Sprint(i, strings.Repeat("é", 1000))})
	}
	list := l.List()
	if len(list) != Kept || list[0].At != 3*Kept-1 || list[Kept-1].At != 2*Kept {
		t.Fatalf("%d events from %d to %d", len(list), list[len(list)-1].At, list[0].At)
	}
	if text := list[0].Text; len(text) > maxTextBytes+10 || !utf8.ValidString(text) {
		t.Errorf("a text of %d bytes: %q", len(text), text)
	}
}

// Many changes by one user within a minute are one event with their number; others stand apart.
func TestChangesByOneUser(t *testing.T) {
	var l Log
	add := func(at int64, kind, user string) {
		l.Add(clusterstatus.Event{At: at, Kind: kind, User: user, Text: fmt.Sprint(at)})
	}
	for i := range int64(100) {
		add(i*1000, Policy, "deploy") // a second apart
	}
	add(100_000, Policy, "other")
	add(100_001, Key, "other")
	add(100_002+OneWithin.Milliseconds(), Key, "other")
	add(100_003+OneWithin.Milliseconds(), Leader, "")
	add(100_004+OneWithin.Milliseconds(), Leader, "")
	var got []string
	for _, e := range l.List() {
		got = append(got, fmt.Sprint(e.Kind, " ", e.More))
	}
	if want := "leader 0,leader 0,key 0,key 0,policy 0,policy 99"; strings.Join(got, ",") != want || l.List()[5].Text != "99000" {
		t.Errorf("%s, want %s", got, want)
	}
}
