package main

import "fmt"

// usageError is a sentence about a mistake on the command line; it wraps errUsage without repeating it.
type usageError struct{ err error }

func (e *usageError) Error() string   { return e.err.Error() }
func (e *usageError) Unwrap() []error { return []error{errUsage, e.err} }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// didYouMean ends a sentence about an unknown name with a suggestion, or with otherwise if there is none.
func didYouMean(suggestion, otherwise string) string {
	if suggestion == "" {
		return otherwise
	}
	return fmt.Sprintf("; did you mean %s?", suggestion)
}
