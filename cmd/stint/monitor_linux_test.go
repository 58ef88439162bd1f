package main

import (
	"slices"
	"testing"
)

func TestSchedTrace(t *testing.T) {
	for _, row := range []struct{ environ, want []string }{
		{nil, []string{"GODEBUG=" + schedTrace}},
		{[]string{"A=1", "GODEBUG=", "B=2"}, []string{"A=1", "B=2", "GODEBUG=" + schedTrace}},
		{[]string{"GODEBUG=inittrace=1", "B=2"}, []string{"B=2", "GODEBUG=inittrace=1," + schedTrace}},
		{[]string{"GODEBUG=schedtrace=0"}, nil},
		{[]string{"GODEBUG=inittrace=1,schedtrace=1000"}, nil},
	} {
		got, isChanged := withSchedTrace(row.environ)
		if isChanged != (row.want != nil) || isChanged && !slices.Equal(got, row.want) {
			t.Errorf("%q: got %q, %v, want %q", row.environ, got, isChanged, row.want)
		}
		if again, twice := withSchedTrace(got); twice {
			t.Errorf("%q: a program with that environment starts again with %q", got, again)
		}
	}
}
