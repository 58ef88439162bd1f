package events

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stintdb/stint/internal/clusterstatus"
)

// A log keeps the last events, and shortens their texts.
func TestLogIsBounded(t *testing.T) {
	var l Log
	for i := range 3 * Kept {
		l.Add(int64(i)*1e6, clusterstatus.Event{Kind: Leader, Text: fmt.Sprint(i, strings.Repeat("é", 1000))})
	}
	list := l.List()
	if len(list) != Kept || list[0].At != 3*Kept-1 || list[Kept-1].At != 2*Kept {
		t.Fatalf("%d events from %d to %d", len(list), list[len(list)-1].At, list[0].At)
	}
	if text := list[0].Text; len(text) > maxTextBytes+10 || !utf8.ValidString(text) {
		t.Errorf("a text of %d bytes: %q", len(text), text)
	}
}

// Events without a user, such as new leaders of many groups, leave half of the log to changes by users.
func TestChangesByUsersStay(t *testing.T) {
	var l Log
	for i := range int64(2 * Kept) {
		l.Add(i*int64(time.Hour), clusterstatus.Event{Kind: Policy, User: "ann", Text: fmt.Sprint(i)})
	}
	for range 3 * Kept {
		l.Add(int64(1000*time.Hour), clusterstatus.Event{Kind: Leader})
	}
	all := l.List()
	if last := all[len(all)-1]; len(all) != Kept || all[Kept/2-1].Kind != Leader || all[Kept/2].Text != fmt.Sprint(2*Kept-1) || last.Text != fmt.Sprint(2*Kept-Kept/2) {
		t.Errorf("%d events, %+v", len(all), all)
	}
}

// Many changes by one user within a minute are one event with a count; others are separate events.
func TestChangesByOneUser(t *testing.T) {
	var l Log
	add := func(at int64, kind, user string) {
		l.Add(at*1e6, clusterstatus.Event{Kind: kind, User: user, Text: fmt.Sprint(at)})
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
