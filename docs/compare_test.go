package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const anything = "…"

// timed is the least number that may be a time in milliseconds and so may have run down.
const timed = 1000

// compare says where got differs from want, or nothing. Times in want are right for a reader who types infinitely fast.
func compare(got, want string, passed time.Duration) string {
	gots, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gots), len(wants)) {
		switch {
		case i >= len(gots):
			return fmt.Sprintf("output line %d is missing: %q", i+1, wants[i])
		case i >= len(wants):
			return fmt.Sprintf("output line %d is not shown: %q", i+1, gots[i])
		case !sameLine(gots[i], wants[i], passed.Milliseconds()+1):
			return fmt.Sprintf("output line %d is %q, shown is %q", i+1, gots[i], wants[i])
		}
	}
	return ""
}

var numbers = regexp.MustCompile(`\d+`)

func sameLine(got, want string, passed int64) bool {
	if parts := strings.Split(want, anything); len(parts) > 1 {
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
	}
	gots, wants := numbers.FindAllString(got, -1), numbers.FindAllString(want, -1)
	if len(gots) != len(wants) || numbers.ReplaceAllString(got, "0") != numbers.ReplaceAllString(want, "0") {
		return false
	}
	for i := range wants {
		shown, _ := strconv.ParseInt(wants[i], 10, 64)
		actual, _ := strconv.ParseInt(gots[i], 10, 64)
		if gots[i] != wants[i] && (shown < timed || actual > shown || actual < shown-passed) {
			return false
		}
	}
	return true
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "b\n", false},
		{"a\n", "a\nb\n", false},
		{"a\nb\n", "a\n", false},
		{"a 1 b 22 c\n", "a … b … c\n", true},
		{"a 1 b 22 d\n", "a … b … c\n", false},
		{"a 1 c\n", "a … b … c\n", false},
		{"", "a\n", false},
		{"4) (integer) 5000\n", "4) (integer) 5000\n", true},
		{"4) (integer) 4950\n", "4) (integer) 5000\n", true},
		{"4) (integer) 4898\n", "4) (integer) 5000\n", false},
		{"4) (integer) 5001\n", "4) (integer) 5000\n", false},
		{"4) (integer) 999\n", "4) (integer) 1000\n", true},
		{"1) (integer) 2\n", "1) (integer) 3\n", false},
		{"1) (integer) -1\n", "1) (integer) 1\n", false},
		{"3) (integer) 4999\n", "4) (integer) 5000\n", false},
		{"version:7.4.0\n", "version:…\n", true},
		{"versions\n", "version:…\n", false},
		{"id=12 x\n", "id=… x\n", true},
		{"id=12 y\n", "id=… x\n", false},
	} {
		if difference := compare(c.got, c.want, 100*time.Millisecond); (difference == "") != c.same {
			t.Errorf("compare(%q, %q) = %q, want same %v", c.got, c.want, difference, c.same)
		}
	}
}
