package servertest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/command/limiter"
)

var grammarWord = regexp.MustCompile(`[A-Z][A-Z0-9]+`)

// GrammarWords returns all literal words of commands, in upper and lower case, and signs that replace a value. A server
// of another protocol that receives one of them as a value must not pass it on as a word of the grammar.
func GrammarWords() (words []string) {
	words = limiter.SpecWords()
	for _, row := range command.All {
		words = append(words, grammarWord.FindAllString(row.Syntax, -1)...)
	}
	for _, word := range words {
		words = append(words, strings.ToLower(word))
	}
	words = append(words, "-", "*", "NONE", "none", " PEEK", "PEEK ", "pEEk", "PEEK\x00", "1 PEEK", "+1", "1\r\nPEEK")
	slices.Sort(words)
	return slices.Compact(words)
}
