package metrics

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel limits the characters of a label's value that comes from a client.
const maxLabel = 64

// Label turns text from a client into a label's value: it quotes text that is not printable, and shortens it.
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
