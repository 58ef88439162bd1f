package limiter

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// The keys below are names, see package database.

// AcquireWords returns the command that asks another server for tokens of a limit. options may be PEEK, UPTO or FORCE.
// CL.THROTTLE has no options: a PEEK asks for no tokens, and the reply shows those that are left.
func AcquireWords(key []byte, limit limits.Limit, tokens int64, options engine.Option) []string {
	if limit.Algorithm == limits.GCRA {
		if options&engine.Peek != 0 {
			tokens = 0
		}
		name := strings.ToUpper(throttleRows[0].Name)
		return append(paramWords([]string{name, string(database.KeyOf(key))}, limit), strconv.FormatInt(tokens, 10))
	}
	name := specOf(limit.Algorithm).word + ".ACQUIRE"
	words := append(paramWords([]string{name, string(database.KeyOf(key))}, limit), strconv.FormatInt(tokens, 10))
	words = limitOptions(words, limit)
	if options&engine.Peek != 0 {
		words = append(words, optPeek.Name)
	}
	if options&engine.UpTo != 0 {
		words = append(words, optUpTo.Name)
	}
	if options&engine.Force != 0 {
		words = append(words, optForce.Name)
	}
	return words
}

// RefundWords returns the RL.REFUND that gives tokens back to a limiter of another server.
func RefundWords(key []byte, tokens int64) []string {
	return []string{"RL.REFUND", string(database.KeyOf(key)), strconv.FormatInt(tokens, 10)}
}

// LendWords returns the RL.LEND that asks another server to set tokens of a limit aside for a holder.
func LendWords(op engine.Op) []string {
	words := []string{"RL.LEND", string(database.KeyOf(op.Key)), specOf(op.Limit.Algorithm).word}
	words = paramWords(words, op.Limit)
	words = append(words, strconv.FormatInt(op.Tokens, 10))
	words = append(words, string(op.Who), numberWord(op.Loan.Number), numberWord(op.Loan.Previous))
	if op.Options&engine.Whole != 0 {
		words = append(words, optAll.Name)
	}
	words = append(words, optLeft.Name, strconv.FormatInt(op.Loan.Left, 10))
	if op.MaxWait != 0 {
		words = append(words, optLendFor.Name, limits.FormatDuration(op.MaxWait))
	}
	return limitOptions(words, op.Limit)
}

// ReturnWords returns the RL.RETURN that ends a loan at another server, or reduces it to the tokens of KEEP.
func ReturnWords(op engine.Op) []string {
	words := []string{"RL.RETURN", string(database.KeyOf(op.Key)), string(op.Who)}
	words = append(words, numberWord(op.Loan.Number), numberWord(op.Loan.Previous), strconv.FormatInt(op.Loan.Left, 10))
	if op.Keep != 0 {
		words = append(words, optKept.Name, strconv.FormatInt(int64(op.Keep), 10))
	}
	return words
}

func numberWord(n uint64) string { return strconv.FormatUint(n, 10) }
