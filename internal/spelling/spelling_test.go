package spelling

import (
	"math/rand/v2"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"listen", "list", "log-level", "max-clients", "max-memory"}
	for word, want := range map[string]string{
		"list": "list", "lisen": "listen", "lis": "listen", "max-client": "max-clients", "max": "max-clients", "max-memry": "max-memory",
		"lst": "list", "lsit": "list", "ilst": "list", "lits": "list", "ist": "list", "lo": "", "": "", "zzzzzz": "", "LISTEN": "", "tsil": "", "max-memoryyyyyyy": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestSameLetters(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{{"expire", "exipree", true}, {"lrem", "zrem", false}, {"expire", "expir", true}, {"ping", "pin", false}} {
		if SameLetters(tc.a, tc.b) != tc.want || SameLetters(tc.b, tc.a) != tc.want {
			t.Errorf("%q and %q: want %v", tc.a, tc.b, tc.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got := editDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("from %q to %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// The shortcut never passes over a candidate that is near.
func TestShortcutIsALowerBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, random.IntN(9))
		for i := range b {
			b[i] = "abc.\x01A"[random.IntN(6)]
		}
		return string(b)
	}
	for range 100_000 {
		a, b := word(), word()
		want := editDistance(a, b)
		if lower := max(missing(a, b), missing(b, a)); lower > want {
			t.Fatalf("%q and %q miss %d letters of each other, and are %d apart", a, b, lower, want)
		}
	}
}
