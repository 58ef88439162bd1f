package glob

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"a", "a", true}, {"a", "b", false}, {"a", "A", false}, {"ab", "a", false},
		{"*", "", true}, {"*", "anything", true}, {"**", "a", true}, {"*a", "a", true}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*", "a", true}, {"a*", "abc", true}, {"a*", "ba", false}, {"a*c", "abc", true}, {"a*c", "abcbc", true}, {"a*c", "abcb", false},
		{"*a*b*", "xaxbx", true}, {"*a*b*", "xbxax", false}, {"user:*:x", "user:1:2:x", true},
		{"?", "", false}, {"?", "a", true}, {"?", "ab", false}, {"h?llo", "hello", true}, {"?*", "", false}, {"*?", "a", true}, {"??", "é", true},
		{"[abc]", "b", true}, {"[abc]", "d", false}, {"[abc]", "", false}, {"h[ae]llo", "hallo", true}, {"h[ae]llo", "hillo", false},
		{"[a-c]", "b", true}, {"[a-c]", "d", false}, {"[c-a]", "b", true}, {"[a-]", "-", false}, {"[a-]", "a", true}, {"[a-]", "]", true}, {"[-a]", "-", true},
		{"[^a]", "b", true}, {"[^a]", "a", false}, {"[^a-c]", "d", true}, {"[^a-c]", "b", false}, {"[^]", "a", true},
		{"[]", "a", false}, {"[]a]", "]", false}, {"[a\\]b]", "]", true}, {"[\\^a]", "^", true}, {"[a", "a", true}, {"[a", "b", false}, {"[^", "a", true}, {"[", "a", false},
		{"\\*", "*", true}, {"\\*", "a", false}, {"\\?", "?", true}, {"\\[a]", "[a]", true}, {"\\a", "a", true}, {"a\\", "a\\", true}, {"\\\\", "\\", true},
		{"[\x00-\xff]", "\x80", true}, {"\xff*", "\xff\x00", true}, {"a\x00b", "a\x00b", true},
		{"*[0-9]", "key7", true}, {"*[0-9]", "key", false}, {"*\\*", "a*", true}, {"*\\*", "a", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestPrefix(t *testing.T) {
	for pattern, want := range map[string]string{"": "", "*": "", "a:*b": "a:", "a?": "a", "a[bc]": "a", `a\*b`: "a", "a:b": "a:b"} {
		if got := Prefix(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

// Patterns that make a backtracking matcher take forever are done at once.
func TestMatchIsQuick(t *testing.T) {
	pattern, text := strings.Repeat("a*", 2000)+"b", strings.Repeat("a", 4000)
	done := make(chan bool, 1)
	go func() { done <- Match(pattern, text) }()
	select {
	case got := <-done:
		if got {
			t.Error("matches")
		}
	case <-time.After(20 * time.Second): // only when the test fails
		t.Error("takes more than 20 s")
	}
}

// Where a pattern has no sets and no backslashes, a regular expression says the same.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{{"a*b?c", "axbyc"}, {"***", ""}, {"?*?", "ab"}, {"[a-z]*", "abc"}, {"\\", "\\"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		got := Match(pattern, text)
		if len(pattern) > 200 || strings.ContainsAny(pattern, "[\\") {
			return
		}
		expression := regexp.QuoteMeta(hexOf(pattern))
		expression = strings.ReplaceAll(expression, hexOf("*"), "(..)*")
		expression = strings.ReplaceAll(expression, hexOf("?"), "..")
		if want := regexp.MustCompile("^" + expression + "$").MatchString(hexOf(text)); got != want {
			t.Errorf("Match(%q, %q) = %v", pattern, text, got)
		}
	})
}

// hexOf spells bytes as letters, two a byte and none of them with a meaning in a regular expression, so that a pattern
// of bytes becomes one of runes.
func hexOf(s string) string {
	var out strings.Builder
	for i := range len(s) {
		out.WriteByte('A' + s[i]>>4)
		out.WriteByte('a' + s[i]&15)
	}
	return out.String()
}
