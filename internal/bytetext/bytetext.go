// Package bytetext writes keys, holders and other bytes of clients as text. They may be no UTF-8, and JSON would make
// the same text of different ones.
package bytetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JSON returns the values of two fields of which one is left out: the text of b, or, if b is not UTF-8, the bytes,
// which encoding/json writes in base64. By convention the second field has the name of the first with _base64 at its
// end.
func JSON(b []byte) (text *string, binary []byte) {
	if !utf8.Valid(b) {
		return nil, b
	}
	s := string(b)
	return &s, nil
}

// Printable is [JSON] for a terminal: text with characters that cannot be printed counts as bytes.
func Printable(b []byte) (text *string, binary []byte) {
	text, binary = JSON(b)
	if text != nil && strings.ContainsFunc(*text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, b
	}
	return text, binary
}

// Shown returns text for people: as it is, or, if it is not UTF-8, in quotes with escapes such as \xff.
func Shown(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strconv.QuoteToASCII(text)
}
