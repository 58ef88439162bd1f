package command

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// The keys of these commands are given by their names.

// AcquireWords is the command that asks another server for tokens of a limit, with PEEK or UPTO.
func AcquireWords(key []byte, limit limits.Limit, tokens int64, options engine.Option) []string {
	name := strings.ToUpper(throttleRows[0].Name)
	if limit.Algorithm != limits.GCRA {
		name = specOf(limit.Algorithm).word + ".ACQUIRE"
	}
	words := append(paramWords([]string{name, string(database.KeyOf(key))}, limit), strconv.FormatInt(tokens, 10))
	words = limitOptions(words, limit)
	if options&engine.Peek != 0 {
		words = append(words, optPeek.name)
	}
	if options&engine.UpTo != 0 {
		words = append(words, optUpTo.name)
	}
	return words
}

// LendWords is RL.LEND, which asks another server to set tokens of a limit aside for a holder.
func LendWords(key []byte, limit limits.Limit, tokens int64, holder string, of engine.Loan) []string {
	words := paramWords([]string{"RL.LEND", string(database.KeyOf(key)), specOf(limit.Algorithm).word}, limit)
	words = append(words, strconv.FormatInt(tokens, 10), holder, numberWord(of.Number), numberWord(of.Previous), optLeft.name, strconv.FormatInt(of.Left, 10))
	return limitOptions(words, limit)
}

// ReturnWords is RL.RETURN, which ends a holder's loan at another server.
func ReturnWords(key []byte, holder string, of engine.Loan) []string {
	return []string{"RL.RETURN", string(database.KeyOf(key)), holder, numberWord(of.Number), numberWord(of.Previous), strconv.FormatInt(of.Left, 10)}
}

func numberWord(n uint64) string { return strconv.FormatUint(n, 10) }
