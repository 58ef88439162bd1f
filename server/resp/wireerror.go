package resp

import (
	"fmt"
	"strings"
)

// WireError is an error reply and its row in docs/errors.md. Texts that client libraries match are Redis's own.
type WireError struct {
	Text string // the code and the message; a format of fmt if values are filled in
	// Advice is the cause and the remedy, in Markdown. It is empty for a text that explains itself, which docs/errors.md
	// leaves out.
	Advice string
}

// Error returns the text of an error without values.
func (e *WireError) Error() string { return e.Text }

// With fills in the values.
func (e *WireError) With(values ...any) error { return fmt.Errorf(e.Text, values...) }

// WithoutCode returns the message of an error reply without its code, for readers other than clients.
func WithoutCode(err error) string {
	_, message, _ := strings.Cut(err.Error(), " ")
	return message
}

// ErrorSection is a section of docs/errors.md. Its rows are added in the order of their declarations.
type ErrorSection struct {
	Heading, Before, After string // the texts stand before and after the table
	Rows                   []*WireError
}

// Add adds an error to the section. Error replies are declared in no other way.
func (s *ErrorSection) Add(text, advice string) *WireError {
	e := &WireError{text, advice}
	s.Rows = append(s.Rows, e)
	return e
}
