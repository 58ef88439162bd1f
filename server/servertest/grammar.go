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

// GrammarWords are all words that stand for themselves in some command, in upper and lower case, and the signs that stand in place of a value. A
// door that is sent one of them as a value must not hand it on as a word of the grammar.
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
