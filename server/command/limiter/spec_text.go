package limiter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// SpecText formats a limit as RL.POLICY SET takes it. Words that need quotes are quoted as in redis-cli.
func SpecText(op engine.Op) string {
	k := specOf(op.Limit.Algorithm)
	if isAncestor(&op) {
		k = ancestorSpec
	}
	var words []string
	if op.IsElse() {
		words = append(words, elseWord)
	}
	words = append(words, k.word, wordText(op.Key))
	if assured, ok := engine.Assured(op.Who); ok && k.assured != nil {
		words = paramWords(words, assured)
	}
	words = paramWords(words, op.Limit)
	if k.who != "" {
		words = append(words, wordText(op.Who))
	}
	words = limitOptions(words, op.Limit)
	if op.Options&engine.FixedCost != 0 {
		words = append(words, optCost.Name, strconv.FormatInt(op.Tokens, 10))
	}
	if op.Keep != 0 {
		words = append(words, optKeep.Name, op.Keep.String())
	}
	if op.Weight != 0 {
		words = append(words, optWeight.Name, strconv.FormatInt(op.Weight, 10))
	}
	if op.IsSpread() {
		words = append(words, optSpread.Name)
	}
	return strings.Join(words, " ")
}

// LimitWords returns the word of a limit's algorithm, and the parameters that follow its key in RL.ALL.
func LimitWords(limit limits.Limit) (word string, params []string) {
	return specOf(limit.Algorithm).word, paramWords(nil, limit)
}

// wordText returns a word as it is, or in quotes if it is empty or contains a space, a quote, a backslash, or a byte
// that is not printable ASCII.
func wordText(word []byte) string {
	isPlain := len(word) > 0
	quoted := []byte{'"'}
	for _, c := range word {
		switch {
		case c == '"' || c == '\\':
			isPlain, quoted = false, append(quoted, '\\', c)
		case c < ' ' || c > '~':
			isPlain, quoted = false, fmt.Appendf(quoted, `\x%02x`, c)
		default:
			isPlain, quoted = isPlain && c != ' ' && c != '\'', append(quoted, c)
		}
	}
	if isPlain {
		return string(word)
	}
	return string(append(quoted, '"'))
}

// AppendLimit appends a limit as RL.ALL takes it: the word of its algorithm, which may come from outside, its key, and
// the other arguments that [SpecArguments] names.
func AppendLimit(w *command.Words, algorithm, key string, parameters ...string) {
	w.Add(algorithm)
	w.Add(key)
	appendParameters(w, algorithm, parameters)
}

// AppendLimitOfKey appends a limit as RL.ATMOST takes it: as [AppendLimit], but its key comes first.
func AppendLimitOfKey(w *command.Words, algorithm, key string, parameters ...string) {
	w.Add(key)
	w.Add(algorithm)
	appendParameters(w, algorithm, parameters)
}

func appendParameters(w *command.Words, algorithm string, parameters []string) {
	names, known := SpecArguments(algorithm)
	switch {
	case !known:
		w.Note(fmt.Errorf("algorithm: must be one of %s, got %q", specWords(), command.Truncate([]byte(algorithm), 64)))
	case len(names) != 1+len(parameters):
		w.Note(fmt.Errorf("command: %s has %d arguments, got %d", algorithm, len(names), 1+len(parameters)))
	}
	for i, p := range parameters {
		if 1+i < len(names) && command.IntegerArguments[names[1+i]] {
			w.MustBeDigits(names[1+i], p)
		}
		w.Add(p)
	}
}

// isLimitOption reports whether a parameter of a limit is written as an option, after the other parameters.
func isLimitOption(name string) bool {
	switch strings.ToUpper(name) {
	case zoneWord, fromWord, historyWord, rolloverWord, segmentsWord, doublingWord, warnWord:
		return true
	}
	return false
}

// paramWords appends the parameters of a limit that follow its key.
func paramWords(words []string, limit limits.Limit) []string {
	for _, p := range limit.Params() {
		if !isLimitOption(p.Name) {
			words = append(words, p.Text)
		}
	}
	return words
}

// limitOptions appends the parameters of a limit that are written as options.
func limitOptions(words []string, limit limits.Limit) []string {
	for _, p := range limit.Params() {
		if isLimitOption(p.Name) {
			words = append(words, strings.ToUpper(p.Name), p.Text)
		}
	}
	return words
}
