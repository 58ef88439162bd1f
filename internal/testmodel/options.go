package testmodel

import (
	"math/big"
	"slices"
	"strings"
)

// readTokens reads the tokens asked for, if a number comes first.
func (r *request) readTokens(name string, words []string) (rest []string, err error) {
	if len(words) == 0 || words[0] != "" && !strings.ContainsAny(words[0][:1], "0123456789+-. ") {
		return words, nil
	}
	r.tokens, err = between(name, words[0], 1, mostTokens)
	return words[1:], err
}

var contradictions = [][2]string{
	{"FORCE", "UPTO"}, {"FORCE", "MAXWAIT"}, {"FORCE", "BLOCK"}, {"MAXWAIT", "BLOCK"}, {"KEEP", "FORCE"}, {"KEEP", "MAXWAIT"}, {"KEEP", "BLOCK"},
	{"AS", "PEEK"}, {"AS", "BLOCK"},
}

// errPriority refuses a priority among callers where nobody waits for a place.
const errPriority = refusal("ERR PRIORITY: needs BLOCK and a CC limit")

// readOptions reads the words that a command ends with.
func (r *request) readOptions(name string, words, known []string) error {
	rest, err := r.leadingOptions(words, known)
	if err == nil && len(rest) > 0 {
		takes := strings.Join(known, ", ")
		err = refuse("ERR syntax error: %s does not take '%s' here; it takes %s", name, rest[0][:min(64, len(rest[0]))], takes)
	}
	return err
}

// leadingOptions reads options up to the first word that is none.
func (r *request) leadingOptions(words, known []string) (rest []string, err error) {
	given := map[string]bool{}
	for len(words) > 0 && slices.Contains(known, strings.ToUpper(words[0])) {
		option := strings.ToUpper(words[0])
		if err := contradicts(option, given, known); err != nil {
			return nil, err
		}
		given[option], words = true, words[1:]
		switch option {
		case "PEEK":
			r.peek = true
			continue
		case "UPTO":
			r.upTo = true
			continue
		case "FORCE":
			r.force = true
			continue
		case "ALL":
			r.whole = true
			continue
		case "SPLIT":
			r.showWarn, r.split = true, true
			continue
		case "SPREAD":
			if err := r.limit.canSpread(); err != nil {
				return nil, err
			}
			r.spread = true
			continue
		case "WITH":
			return nil, r.readFields(words)
		case "WARN":
			if r.limit.algorithm == "" { // RL.CHECK
				r.showWarn = true
				continue
			}
		}
		if len(words) == 0 {
			return nil, refuse("ERR %s: needs a value", option)
		}
		if err := r.readOption(option, words[0]); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	return words, nil
}

// contradicts returns an error if an option was given before, or another that excludes it.
func contradicts(option string, given map[string]bool, known []string) error {
	for _, other := range known {
		if !given[other] {
			continue
		}
		if other == option {
			return refuse("ERR %s: given twice", option)
		}
		if slices.Contains(contradictions, [2]string{other, option}) || slices.Contains(contradictions, [2]string{option, other}) {
			return refuse("ERR %s: cannot be combined with %s", option, other)
		}
	}
	return nil
}

// readOption reads an option that has a value.
func (r *request) readOption(option, value string) (err error) {
	switch option {
	case "TOKENS":
		r.tokens, err = between(option, value, 1, mostTokens)
	case "COUNT":
		r.tokens, err = between(option, value, 1, mostGrants)
	case "LEFT":
		r.left, err = between(option, value, 0, mostTokens)
	case "COST":
		most := mostTokens
		if a := r.limit.algorithm; a == concurrency || a == penalty {
			most = 1
		}
		r.cost = true
		r.tokens, err = between(option, value, 0, most)
	case "KEEP":
		if r.isReturn {
			r.tokens, err = between(option, value, 0, mostTokens)
			return err
		}
		if !r.limit.keeps() {
			return refuse("ERR KEEP: does not apply to %s", formOf(r.limit.algorithm).word)
		}
		r.keep, err = readKept(value)
	case "TZ":
		err = r.limit.readZone(value)
	case "FROM":
		err = r.limit.readFrom(value)
	case "HISTORY":
		err = r.limit.readHistory(value)
	case "ROLLOVER":
		err = r.limit.readRollover(value)
	case "DOUBLING":
		err = r.limit.readDoubling(value)
	case "SEGMENTS":
		err = r.limit.readSegments(value)
	case "WARN":
		err = r.limit.readWarn(value)
	case "AS":
		if r.id, err = &value, checkKey(value); value == "" {
			err = emptyID
		}
	case "EXPIRE":
		r.expires, err = between(option, value, 1_000_000_000, mostTime/second)
		r.expires *= second
	case "FOR":
		r.length, err = duration(option, value)
	case "PRIORITY":
		r.priority = true
		_, err = between(option, value, 0, 9)
	default:
		r.block = option == "BLOCK"
		r.wait, err = duration(option, value)
	}
	return err
}

// kept is the part that a request leaves to others: a number of tokens, or a share of the limit in percent.
type kept struct {
	number *big.Rat
	share  bool
}

// keeps reports whether a request may leave a part of the limit to others.
func (l *limit) keeps() bool {
	a := l.algorithm
	return a != concurrency && a != leakyQueue && a != balance && a != penalty
}

func readKept(text string) (*kept, error) {
	k := &kept{}
	digits, share := strings.CutSuffix(text, "%")
	if k.share = share; share {
		_, decimals, _ := strings.Cut(digits, ".")
		n, ok := decimal(digits)
		ok = ok && !strings.ContainsAny(digits, "eE")
		if k.number = n; ok && len(decimals) <= 3 && n.Cmp(ratio(100)) <= 0 {
			return k, nil
		}
	} else if n, ok := wholeNumber(text); ok && n >= 0 && n <= mostTokens {
		k.number = ratio(n)
		return k, nil
	}
	return nil, argument("KEEP", "must be an integer between 0 and 1000000000000, or a percentage between 0% and 100% with at most three decimals", text)
}

// of is the number of tokens kept of a limit; a share is rounded up.
func (k *kept) of(most int64) int64 {
	switch {
	case k == nil:
		return 0
	case k.share:
		return up(times(ratio(most), times(k.number, big.NewRat(1, 100))))
	}
	return down(k.number)
}

func (k *kept) String() string {
	if k.share && k.number.Sign() > 0 {
		return strings.TrimRight(strings.TrimRight(k.number.FloatString(3), "0"), ".") + "%"
	}
	return k.number.FloatString(0)
}
