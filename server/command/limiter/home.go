package limiter

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
		words = append(words, optPeek.Name)
	}
	if options&engine.UpTo != 0 {
		words = append(words, optUpTo.Name)
	}
	return words
}

// LendWords is RL.LEND, which asks another server to set tokens of a limit aside for a holder.
func LendWords(key []byte, limit limits.Limit, tokens int64, holder string, of engine.Loan) []string {
	words := paramWords([]string{"RL.LEND", string(database.KeyOf(key)), specOf(limit.Algorithm).word}, limit)
	words = append(words, strconv.FormatInt(tokens, 10), holder, numberWord(of.Number), numberWord(of.Previous), optLeft.Name, strconv.FormatInt(of.Left, 10))
	return limitOptions(words, limit)
}

// ReturnWords is RL.RETURN, which ends a loan at another server, or reduces it to the tokens of KEEP.
func ReturnWords(op engine.Op) []string {
	words := []string{"RL.RETURN", string(database.KeyOf(op.Key)), string(op.Who), numberWord(op.Loan.Number), numberWord(op.Loan.Previous), strconv.FormatInt(op.Loan.Left, 10)}
	if op.Keep != 0 {
		words = append(words, optKept.Name, strconv.FormatInt(int64(op.Keep), 10))
	}
	return words
}

func numberWord(n uint64) string { return strconv.FormatUint(n, 10) }
