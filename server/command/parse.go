package command

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/digits"
	"github.com/stintdb/stint/engine/limits"
)

// ParseInteger parses a signed 64-bit decimal: an optional sign and digits, nothing else.
func ParseInteger(text []byte) (value int64, ok bool) {
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

// ParseIntegerBetween parses an argument that must be an integer from least to most.
func ParseIntegerBetween(name string, text []byte, least, most int64) (int64, error) {
	n, ok := ParseInteger(text)
	if !ok || n < least || n > most {
		return 0, ArgumentError(name, fmt.Sprintf("must be an integer between %d and %d", least, most), text)
	}
	return n, nil
}

// ParseRate parses a rate, such as 10/s.
func ParseRate(name string, text []byte) (limits.Rate, error) {
	r, err := limits.ParseRate(string(text))
	if err != nil {
		return r, ArgumentError(name, err.Error(), text)
	}
	return r, nil
}

// ParseDuration parses a duration, such as 5m. The result is in nanoseconds.
func ParseDuration(name string, text []byte) (int64, error) {
	d, err := limits.ParseDuration(string(text))
	if err != nil {
		return d, ArgumentError(name, err.Error(), text)
	}
	return d, nil
}

// Duration is [ParseDuration]. It remembers the last duration, because most commands repeat that of the command before.
func (r *Request) Duration(name string, text []byte) (int64, error) {
	last := &r.duration
	if last.length > 0 && string(text) == string(last.text[:last.length]) {
		return last.nanos, nil
	}
	nanos, err := ParseDuration(name, text)
	if err == nil && len(text) <= len(last.text) {
		last.length, last.nanos = copy(last.text[:], text), nanos
	}
	return nanos, err
}

// Key checks the length of a key.
func (r *Request) Key(key []byte) error {
	r.isMarked = r.isMarked || database.MayBeMarked(key)
	if len(key) > r.Bounds.MaxKeyBytes {
		return errKeyTooLong.With(r.Bounds.MaxKeyBytes, len(key))
	}
	return nil
}

// Option is an option of a command. Set stores it in the operation.
type Option struct {
	Name     string
	HasValue bool
	IsText   bool     // the value is neither a number nor a percentage
	Excludes []string // options that contradict it; they need not name it in turn
	Set      func(r *Request, op *engine.Op, value []byte) error
	SetRest  func(r *Request, op *engine.Op, words [][]byte) error // in place of Set, if all words that follow belong to it
}

// Options parses the options at the end of a command.
func (r *Request) Options(op *engine.Op, words [][]byte, known []Option) error {
	rest, err := r.LeadingOptions(op, words, known)
	if err == nil && len(rest) > 0 {
		err = UnknownOption(r.Command(), rest[0], OptionNames(known))
	}
	return err
}

// LeadingOptions parses options up to the first word that is not an option.
func (r *Request) LeadingOptions(op *engine.Op, words [][]byte, known []Option) (rest [][]byte, err error) {
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
		if opt.SetRest != nil {
			return nil, opt.SetRest(r, op, words)
		}
		var value []byte
		if opt.HasValue {
			if len(words) == 0 {
				return nil, ErrNoValue.With(opt.Name)
			}
			value, words = words[0], words[1:]
		}
		if err := opt.Set(r, op, value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// checkGiven returns an error if an option was given before, or contradicts an earlier option.
func checkGiven(known []Option, given uint64, at int) error {
	if given == 0 {
		return nil
	}
	opt := &known[at]
	if given&(1<<at) != 0 {
		return errGivenTwice.With(opt.Name)
	}
	for rest := given; rest != 0; rest &= rest - 1 {
		earlier := &known[bits.TrailingZeros64(rest)]
		if slices.Contains(opt.Excludes, earlier.Name) || slices.Contains(earlier.Excludes, opt.Name) {
			return errCombined.With(opt.Name, earlier.Name)
		}
	}
	return nil
}

// findOption returns the position of an option, -1 if the word is not an option.
func findOption(known []Option, word []byte) int {
	for i := range known {
		if IsWord(word, known[i].Name) {
			return i
		}
	}
	return -1
}

// Command is the name of the request's command in capitals, such as RL.POLICY SET.
func (r *Request) Command() string {
	name := string(r.Args[0])
	if row := LookUp(r.Args[0]); row != nil && len(row.Sub) > 0 {
		name += " " + string(r.Args[1])
	}
	return strings.ToUpper(name)
}

// OptionNames lists options for an error.
func OptionNames(known []Option) string {
	if len(known) == 0 {
		return "no options"
	}
	names := make([]string, len(known))
	for i, o := range known {
		names[i] = o.Name
	}
	return strings.Join(names, ", ")
}

// LooksLikeNumber distinguishes an optional number from an option word.
func LooksLikeNumber(word []byte) bool {
	return len(word) == 0 || strings.IndexByte("0123456789+-. ", word[0]) >= 0
}

// ParseRedisInt parses an integer as Redis's commands on data do: no '+', no leading zeros, no blanks.
func ParseRedisInt(b []byte) (n int64, ok bool) {
	text, negative := b, false
	if len(b) > 1 && b[0] == '-' {
		text, negative = b[1:], true
	}
	if len(text) == 0 || len(text) > 19 || text[0] == '0' && (len(text) > 1 || negative) {
		return 0, false
	}
	u, known := uint64(0), 0
	if len(text) >= 8 {
		u, known = digits.ReadEights(text)
	}
	for _, d := range text[known:] {
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

// EachKey makes the Parse of a command whose arguments are keys: one operation for each key.
func EachKey(verb engine.Verb) func(*Request) error {
	return func(r *Request) error {
		for _, key := range r.Args[1:] {
			if err := r.Key(key); err != nil {
				return err
			}
			r.Ops = append(r.Ops, engine.Op{Verb: verb, Key: key})
		}
		return nil
	}
}

// Millis rounds nanoseconds up to milliseconds, so that a client that waits this long is not denied again for being
// early.
func Millis(nanos int64) int64 {
	if nanos < 0 {
		return nanos
	}
	ms := nanos / int64(time.Millisecond)
	if nanos%int64(time.Millisecond) > 0 {
		ms++
	}
	return ms
}
