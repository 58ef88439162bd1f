// Package cli has what the commands of the program stint have in common: the form of their flags, and the errors of
// wrong arguments.
package cli

import (
	"errors"
	"fmt"
)

// ErrUsage is wrapped by errors that a restart with the same arguments and settings cannot fix.
var ErrUsage = errors.New("usage")

// usageError is a sentence about a mistake on the command line. It wraps ErrUsage without repeating it.
type usageError struct{ err error }

func (e *usageError) Error() string   { return e.err.Error() }
func (e *usageError) Unwrap() []error { return []error{ErrUsage, e.err} }

// Usage returns an error with the same text that wraps [ErrUsage] too.
func Usage(err error) error { return &usageError{err} }

// Errorf returns an error that wraps [ErrUsage].
func Errorf(format string, args ...any) error {
	return Usage(fmt.Errorf(format, args...))
}

// DidYouMean ends a sentence about an unknown name with a suggestion, or with otherwise if there is none.
func DidYouMean(suggestion, otherwise string) string {
	if suggestion == "" {
		return otherwise
	}
	return fmt.Sprintf("; did you mean %s?", suggestion)
}
