package metrics

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds the characters of a label's value that comes from a client.
const maxLabel = 64

// Label makes text that comes from a client fit for a label: as it is if it is printable, quoted if it is not, and
// shortened.
func Label(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strconv.QuoteToASCII(text)
	}
	if utf8.RuneCountInString(text) <= maxLabel {
		return text
	}
	runes := []rune(text)
	return string(runes[:maxLabel-1]) + "…"
}
