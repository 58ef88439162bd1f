package config

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrContradiction is wrapped by the errors of [Config.Check] about settings that are each fine but cannot be together.
var ErrContradiction = errors.New("settings contradict each other")

// InvalidError is a value that a setting does not take.
type InvalidError struct {
	Name string // the setting, or where the value came from, such as --max-clients
	Text string // the value as given
	Want string // what it must be, beginning with "must"
}

// Error is one sentence on one line: which setting, what it takes, and what it got.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s, got %s", e.Name, e.Want, quoted(e.Text))
}

// contradiction keeps the sentence free of the sentinel's own text.
type contradiction struct{ sentence string }

func (e *contradiction) Error() string { return e.sentence }
func (e *contradiction) Unwrap() error { return ErrContradiction }

func contradictf(format string, args ...any) error {
	return &contradiction{fmt.Sprintf(format, args...)}
}

// quoted makes a value from outside safe to stand in an error line: no line breaks, no endless garbage.
func quoted(text string) string {
	const longest = 100
	ellipsis := ""
	if len(text) > longest {
		text, ellipsis = text[:longest], "…"
	}
	q := strconv.Quote(text)
	return "'" + q[1:len(q)-1] + ellipsis + "'"
}
