package unauthenticated

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A newcomer is never the one that loses, an address that holds more than its share loses first, and of equals the
// longest idle loses.
func TestConns(t *testing.T) {
	var u Conns[int]
	add := func(c int, address string, wantEvicted int) {
		t.Helper()
		if evicted, _ := u.Add(c, address, 32); evicted != wantEvicted { // so a share is 2
			t.Errorf("%d of %s took the place of %d, want %d", c, address, evicted, wantEvicted)
		}
	}
	add(1, "early", 0)
	add(2, "early", 0)
	for c := 3; c <= 32; c++ {
		add(c, "greedy", 0)
	}
	add(33, "late", 3)
	add(34, "greedy", 4)
	u.Touch(5)
	add(35, "late", 6)
	if u.Remove(6) || !u.Remove(7) || u.Len() != 31 {
		t.Errorf("%d are left", u.Len())
	}
	for c := 100; u.Len() < 32; c++ {
		add(c, fmt.Sprint("other", c), 0)
	}
	for c := 200; len(u.over) > 0; c++ {
		u.Add(c, fmt.Sprint("other", c), 32)
	}
	u.Touch(1)
	add(300, "last", 2) // nobody holds more than a share, and of all that are left 2 is the longest idle
}

// After any additions, touches and removals, the set never exceeds the bound, and an address with at most its share
// keeps its connections while another has more.
func TestConnsAtRandom(t *testing.T) {
	const most = 64
	r := rand.New(rand.NewPCG(1, 2))
	var u Conns[int]
	where, held := map[int]string{}, map[string]int{}
	for c := range 100_000 {
		address := fmt.Sprint(int(r.ExpFloat64() * 5))
		greedy := false
		for _, n := range held {
			greedy = greedy || n > most/sharesOfAll
		}
		evicted, isEvicted := u.Add(c, address, most)
		where[c], held[address] = address, held[address]+1
		if isEvicted {
			if evicted == c {
				t.Fatal("the newcomer lost")
			}
			if from := where[evicted]; greedy && held[from]-btoi(from == address) <= most/sharesOfAll {
				t.Fatalf("%s lost a connection of %d while others held more than their share: %v", from, held[from], held)
			}
			held[where[evicted]]--
			delete(where, evicted)
		}
		u.Touch(c - r.IntN(most))
		if gone := c - r.IntN(most); r.IntN(3) == 0 && u.Remove(gone) {
			held[where[gone]]--
			delete(where, gone)
		}
		if u.Len() > most || u.Len() != len(where) || u.idle.Len() != len(where) {
			t.Fatalf("%d connections, want %d", u.Len(), len(where))
		}
	}
	for c := range where {
		u.Remove(c)
	}
	if u.Len()+u.idle.Len()+len(u.byAddress)+len(u.over) > 0 {
		t.Errorf("left over: %d connections, %d addresses", u.Len(), len(u.byAddress))
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// One IPv6 customer has a whole network of addresses, and is one address here.
func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"203.0.113.7:1": "203.0.113.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:7": "2001:db8:1:2::/64",
		"[::ffff:203.0.113.7]:1": "203.0.113.7", "[fe80::1%eth0]:1": "fe80::/64", "": "local", "@": "local",
		"[64:ff9b::203.0.113.7]:1": "203.0.113.7", "[64:ff9b::1:cb00:7107]:1": "64:ff9b::/64", "[64:ff9b:1::cb00:7107]:1": "64:ff9b:1::/64",
	} {
		if got := Network(addr); got != want {
			t.Errorf("%s is counted as %s, want %s", addr, got, want)
		}
	}
	if got := Prefix("203.0.113.7:1", 24, 48); got != "203.0.113.0/24" {
		t.Error(got)
	}
	if got := Prefix("[2001:db8:1:2::9]:7", 24, 48); got != "2001:db8:1::/48" {
		t.Error(got)
	}
}
