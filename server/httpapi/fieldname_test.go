package httpapi

import (
	"strings"
	"testing"
)

// Names of policies, and of their limits, are different in fields, are short, and hold no line break.
func TestNamesInFields(t *testing.T) {
	long := strings.Repeat("a", 200)
	names := []string{"", "api", "api:1", "api:01", "api:", "api:x", "api:1:0", "api%3A1", "a\r\nb", "ab", "a%0D%0Ab", "a\nb", "\x7f", "%7F", "é", "e", "\xff", "\xfe", "limits", "limits:0", "%6Cimits", "%256Cimits",
		long, long + "b", long[:199], long[:128], long[:127], long[:108] + "%~" + "0000", `a"b`, `a\"b`, strings.Repeat("é", 100), strings.Repeat("é", 100) + "x", "1", ":1"}
	seen := map[string]string{}
	for _, name := range names {
		for limits := range 3 {
			d := decision{Limits: make([]state, limits+1)}
			for i := range d.Limits {
				got := d.nameOf(name, i)
				is := name + " " + d.nameOf("p", i)
				if other, known := seen[got]; known && other != is {
					t.Errorf("%q and %q are both %s", other, is, got)
				}
				seen[got] = is
				if len(got) > 2*maxNameInField || strings.ContainsAny(got, "\r\n\x7f") {
					t.Errorf("%q: %q", name, got)
				}
			}
		}
	}
	for name, want := range map[string]string{"api": "api", "team:api": "team:api", "api:1": "api%3A1", "limits": "%6Cimits", "": "limits", "é": "%C3%A9"} {
		d := decision{Limits: make([]state, 1)}
		if got := d.nameOf(name, 0); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
