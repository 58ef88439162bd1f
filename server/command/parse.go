package command

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// integer reads a signed 64-bit decimal: an optional sign and digits, nothing else.
func integer(text []byte) (value int64, ok bool) {
	digits := text
	negative := false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative, digits = digits[0] == '-', digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c -= '0'; c > 9 || n > math.MaxInt64/10 {
			return 0, false
		} else {
			n = n*10 + uint64(c)
		}
	}
	switch {
	case !negative && n <= math.MaxInt64:
		return int64(n), true
	case negative && n <= math.MaxInt64+1:
		return -int64(n), true
	}
	return 0, false
}

// integerBetween reads an argument that must be an integer in a range.
func integerBetween(name string, text []byte, least, most int64) (int64, error) {
	n, ok := integer(text)
	if !ok || n < least || n > most {
		return 0, argumentError(name, fmt.Sprintf("must be an integer between %d and %d", least, most), text)
	}
	return n, nil
}

func rate(name string, text []byte) (limits.Rate, error) {
	r, err := limits.ParseRate(string(text))
	if err != nil {
		return r, argumentError(name, err.Error(), text)
	}
	return r, nil
}

func duration(name string, text []byte) (int64, error) {
	d, err := limits.ParseDuration(string(text))
	if err != nil {
		return d, argumentError(name, err.Error(), text)
	}
	return d, nil
}

// key checks the length of a key.
func (r *Request) key(key []byte) error {
	r.isMarked = r.isMarked || database.MayBeMarked(key)
	if len(key) > r.Bounds.MaxKeyBytes {
		return errKeyTooLong.With(r.Bounds.MaxKeyBytes, len(key))
	}
	return nil
}

// option is one word a command may end with. set stores it; value is nil but for options that take one.
type option struct {
	name     string
	hasValue bool
	isText   bool // the value is no number and no percentage
	set      func(r *Request, op *engine.Op, value []byte) error
	setRest  func(r *Request, op *engine.Op, words [][]byte) error // in place of set: all words behind it are its own
}

var (
	optPeek    = option{name: "PEEK", set: func(_ *Request, op *engine.Op, _ []byte) error { op.Options |= engine.Peek; return nil }}
	optUpTo    = option{name: "UPTO", set: func(_ *Request, op *engine.Op, _ []byte) error { op.Options |= engine.UpTo; return nil }}
	optForce   = option{name: "FORCE", set: func(_ *Request, op *engine.Op, _ []byte) error { op.Options |= engine.Force; return nil }}
	optMaxWait = option{name: "MAXWAIT", hasValue: true, set: setMaxWait}
	optShadow  = option{name: "SHADOW", set: func(_ *Request, op *engine.Op, _ []byte) error { op.Options |= engine.Shadow; return nil }}
	optStrict  = option{name: "STRICT", set: func(_ *Request, op *engine.Op, _ []byte) error { op.Options |= engine.Strict; return nil }}
	optTokens  = option{name: "TOKENS", hasValue: true, set: setTokens}
	optWith    = option{name: "WITH", setRest: setWith}
	optBlock   = option{name: "BLOCK", hasValue: true, set: setBlock}
	optCost    = option{name: "COST", hasValue: true, set: setCost}
	optKeep    = option{name: "KEEP", hasValue: true, set: setKeep}
)

func setTokens(_ *Request, op *engine.Op, value []byte) (err error) {
	op.Tokens, err = integerBetween("TOKENS", value, 1, limits.MaxTokens)
	return err
}

func setMaxWait(_ *Request, op *engine.Op, value []byte) (err error) {
	op.MaxWait, err = duration("MAXWAIT", value)
	return err
}

func setBlock(r *Request, op *engine.Op, value []byte) (err error) {
	r.Hold = true
	op.MaxWait, err = duration("BLOCK", value)
	return err
}

func setCost(_ *Request, op *engine.Op, value []byte) (err error) {
	most := int64(limits.MaxTokens)
	if op.Limit.Algorithm == limits.Concurrency {
		most = 1
	}
	op.Options |= engine.FixedCost
	op.Tokens, err = integerBetween("COST", value, 0, most)
	return err
}

func setKeep(_ *Request, op *engine.Op, value []byte) error {
	if limit := op.Limit.Algorithm; op.Verb == engine.Acquire && !limit.Keeps() {
		return errKeepsNothing.With(specOf(limit).word)
	}
	keep, ok := parseKeep(value)
	if !ok {
		return argumentError("KEEP", fmt.Sprintf("must be an integer between 0 and %d, or a percentage between 0%% and 100%% with at most three decimals", limits.MaxTokens), value)
	}
	if op.Keep = keep; keep == 0 {
		op.Keep = engine.KeepNothing
	}
	return nil
}

// parseKeep reads a number of tokens, such as 50, or a share of the capacity, such as 12.5%.
func parseKeep(text []byte) (engine.Keep, bool) {
	share, isShare := bytes.CutSuffix(text, []byte("%"))
	if !isShare {
		n, ok := integer(text)
		return engine.KeepTokens(n), ok && n >= 0 && n <= limits.MaxTokens
	}
	whole, decimals, isDecimal := bytes.Cut(share, []byte("."))
	for len(whole) > 1 && whole[0] == '0' {
		whole = whole[1:]
	}
	if isDecimal && len(decimals) == 0 || len(decimals) > 3 || len(whole) > 3 {
		return 0, false
	}
	var digits [6]byte
	n := copy(digits[:], whole)
	n += copy(digits[n:], decimals)
	n += copy(digits[n:], "000"[len(decimals):])
	thousandths, ok := integer(digits[:n])
	isDigit := len(whole) > 0 && whole[0] >= '0' && whole[0] <= '9' // no sign
	return engine.KeepPercent(thousandths), ok && isDigit && thousandths <= engine.MaxKeepPercent
}

// excluded are the pairs of options that contradict each other.
var excluded = [][2]string{{"FORCE", "UPTO"}, {"FORCE", "MAXWAIT"}, {"FORCE", "BLOCK"}, {"MAXWAIT", "BLOCK"}, {"KEEP", "FORCE"}, {"KEEP", "MAXWAIT"}, {"KEEP", "BLOCK"},
	{"AS", "PEEK"}, {"AS", "BLOCK"}}

// options reads the words a command ends with.
func (r *Request) options(op *engine.Op, words [][]byte, known []option) error {
	rest, err := r.leadingOptions(op, words, known)
	if err == nil && len(rest) > 0 {
		err = unknownOption(r.command(), rest[0], optionNames(known))
	}
	return err
}

// leadingOptions reads options up to the first word that is none.
func (r *Request) leadingOptions(op *engine.Op, words [][]byte, known []option) (rest [][]byte, err error) {
	var given uint64 // positions in known
	for len(words) > 0 {
		at := findOption(known, words[0])
		if at < 0 {
			break
		}
		opt := &known[at]
		if err := checkGiven(known, given, at); err != nil {
			return nil, err
		}
		given |= 1 << at
		words = words[1:]
		if opt.setRest != nil {
			return nil, opt.setRest(r, op, words)
		}
		var value []byte
		if opt.hasValue {
			if len(words) == 0 {
				return nil, errNoValue.With(opt.name)
			}
			value, words = words[0], words[1:]
		}
		if err := opt.set(r, op, value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// checkGiven returns an error if an option was given before, or contradicts one that was.
func checkGiven(known []option, given uint64, at int) error {
	if given == 0 {
		return nil
	}
	name := known[at].name
	for i := range known {
		switch other := known[i].name; {
		case given&(1<<i) == 0:
		case i == at:
			return errGivenTwice.With(name)
		default:
			for _, pair := range excluded {
				if pair == [2]string{other, name} || pair == [2]string{name, other} {
					return errCombined.With(name, other)
				}
			}
		}
	}
	return nil
}

// findOption returns the position of an option, -1 if the word is none.
func findOption(known []option, word []byte) int {
	for i := range known {
		if isWord(word, known[i].name) {
			return i
		}
	}
	return -1
}

// command is the name of the request's command as clients write it, such as RL.POLICY SET.
func (r *Request) command() string {
	name := string(r.Args[0])
	if row := lookUp(r.Args[0]); row != nil && len(row.Sub) > 0 {
		name += " " + string(r.Args[1])
	}
	return strings.ToUpper(name)
}

func optionNames(known []option) string {
	if len(known) == 0 {
		return "no options"
	}
	names := make([]string, len(known))
	for i, o := range known {
		names[i] = o.name
	}
	return strings.Join(names, ", ")
}

// tokens reads the number of tokens that may come first among the words behind a limit, and returns the rest.
func tokens(op *engine.Op, name string, words [][]byte) (rest [][]byte, err error) {
	if len(words) == 0 || !looksLikeNumber(words[0]) {
		return words, nil
	}
	op.Tokens, err = integerBetween(name, words[0], 1, limits.MaxTokens)
	return words[1:], err
}

// looksLikeNumber distinguishes an optional number from an option word.
func looksLikeNumber(word []byte) bool {
	return len(word) == 0 || strings.IndexByte("0123456789+-. ", word[0]) >= 0
}

func parseRedisInt(b []byte) (n int64, ok bool) {
	digits, negative := b, false
	if len(b) > 1 && b[0] == '-' {
		digits, negative = b[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	u := uint64(0)
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		u = u*10 + uint64(d-'0') // at most 19 digits: below 2^64
	}
	switch {
	case negative && u <= 1<<63:
		return int64(-u), true
	case negative || u > math.MaxInt64:
		return 0, false
	}
	return int64(u), true
}
