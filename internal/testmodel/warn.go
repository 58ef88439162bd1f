package testmodel

import (
	"strconv"
	"strings"
)

// readWarn reads the threshold of a limit.
func (l *limit) readWarn(text string) error {
	if l.algorithm == balance {
		return refuse("ERR WARN: does not apply to BAL: a balance has no limit of which a part could be used")
	}
	if l.algorithm == penalty {
		return refuse("ERR WARN: does not apply to PENALTY: it has no tokens that could be used")
	}
	n, err := wholePercentage("WARN", text)
	l.warn = n
	return err
}

func wholePercentage(option, text string) (int64, error) {
	digits, is := strings.CutSuffix(text, "%")
	n, ok := wholeNumber(digits)
	if !is || !ok || n < 1 || n > 100 || digits[0] == '+' {
		return 0, argument(option, "must be a whole percentage between 1% and 100%", text)
	}
	return n, nil
}

// warnAt is the threshold in tokens.
func (l limit) warnAt() int64 { return (l.most*l.warn + 99) / 100 }

// warned notes in a state that takes tokens, under a limit, whether it has warned.
func warned(s state, l limit, now int64) state {
	if l.warn == 0 {
		return s
	}
	switch s := s.(type) {
	case *fixed:
		l.most += s.rolled(l, s.start)
		s.warned = s.warned || s.count >= l.warnAt()
	case *sliding:
		s.warned = s.warned || up(s.estimate(now)) >= l.warnAt()
	}
	return s
}

// withWarn adds the field of a limit that warns to others.
func (a answer) withWarn(fields ...int64) []int64 {
	if a.warn == 0 {
		return fields
	}
	return append(fields, a.warns())
}

// warns is the field of a limit: -1 if it does not warn.
func (a answer) warns() int64 {
	switch {
	case a.warn == 0:
		return -1
	case a.limit-a.remaining >= (limit{most: a.limit, warn: a.warn}).warnAt():
		return 1
	}
	return 0
}

// showing adds the fields of limits that warn to the outcome.
func (o *outcome) showing(limits []request) *outcome {
	for i := range o.parts {
		o.parts[i].warn = limits[i].limit.warn
	}
	return o
}

// hiding has the outcome of a check show no such fields unless it asked for them.
func (o *outcome) hiding(call *request) *outcome {
	for i := range o.parts {
		if !call.showWarn {
			o.parts[i].warn = 0
		}
	}
	return o
}

// randomWarn is the threshold of a limit, mostly none.
func randomWarn(c *Calls) (options []string) {
	if c.chance(4) {
		return []string{c.pick("WARN", "warn"), c.pick("80%", "1%", "100%", "50%", strconv.Itoa(1+c.random.IntN(100))+"%", "0%", "101%", "80", "+5%", "x%", "%")}
	}
	return nil
}
