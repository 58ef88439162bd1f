package config

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrConflict is wrapped by the errors of [Config.Check] about settings that contradict each other.
var ErrConflict = errors.New("settings contradict each other")

// InvalidError is the error of a value that a setting does not take.
type InvalidError struct {
	Name string // the setting, or where the value came from, such as --max-clients
	Text string // the value as given
	Want string // the allowed values, beginning with "must"
}

// Error returns the setting, its allowed values and the received value in one line.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s, got %s", e.Name, e.Want, quoted(e.Text))
}

// conflict wraps ErrConflict without showing its text.
type conflict struct{ sentence string }

func (e *conflict) Error() string { return e.sentence }
func (e *conflict) Unwrap() error { return ErrConflict }

func conflictf(format string, args ...any) error {
	return &conflict{fmt.Sprintf(format, args...)}
}

// quoted makes a value from outside safe for an error in one line: no line breaks, and not too long.
func quoted(text string) string {
	const longest = 100
	ellipsis := ""
	if len(text) > longest {
		text, ellipsis = text[:longest], "…"
	}
	q := strconv.Quote(text)
	return "'" + q[1:len(q)-1] + ellipsis + "'"
}
