package blocking

import (
	"fmt"
	"slices"
	"testing"
)

// All clients that only read look at a key that has changed, one after the other, and a client that takes is not among
// them. One that leaves before it has looked passes the news on.
func TestReadersAllLook(t *testing.T) {
	keys, k := startKeys(), [][]byte{[]byte("k")}
	var woken []string
	add := func(name string, to Line) *Waiter {
		return keys.Add(0, k, to, func(bool) { woken = append(woken, name) })
	}
	look := func(all ...*Waiter) (looks []bool) {
		for _, w := range all {
			_, _, _, ok := w.Next()
			looks = append(looks, ok)
		}
		return looks
	}
	taker, a, b, c := add("taker", ToTake), add("a", ToRead), add("b", ToRead), add("c", ToRead)
	for range 2 { // the first look, and none after it
		look(taker, a, b, c)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	keys.Changed(k[0])
	check("woken by the change", woken, []string{"taker", "a"})
	check("each that looks wakes the next", look(taker, a, b, c), []bool{true, true, true, true})
	check("nothing is left to look at", look(taker, a, b, c), []bool{false, false, false, false})

	woken = nil
	keys.Changed(k[0])
	a.Leave()
	check("a has not looked, so b is woken", woken, []string{"taker", "a", "b"})
	look(b)
	b.Leave()
	if !slices.Contains(woken, "c") {
		t.Errorf("c is not woken: %v", woken)
	}
	c.Again("k")
	check("c looks again", look(c, c), []bool{true, false})
	c.Leave()
	taker.Leave()
	if keys.Len() != 0 || len(keys.lines[ToTake])+len(keys.lines[ToRead]) != 0 {
		t.Error("something is left")
	}
}
