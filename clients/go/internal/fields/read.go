package fields

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limit is what a service says about one of its limits. clients/vectors/provider.json has examples.
type Limit struct {
	Unit      string // "requests", "tokens", "input-tokens", "output-tokens", or the unit of a RateLimit-Policy
	Remaining int64
	Quota     int64         // -1 if it is not known
	Reset     time.Duration // until there is more, or all is back; Unknown if it is not known
}

// sets are the names of fields of services that have no RateLimit, by the unit of their limit.
var sets = []struct{ unit, prefix, suffix string }{
	{"requests", "RateLimit-", ""}, {"requests", "X-RateLimit-", ""}, {"requests", "X-Rate-Limit-", ""},
	{"requests", "X-RateLimit-", "-Requests"}, {"tokens", "X-RateLimit-", "-Tokens"},
	{"requests", "Anthropic-RateLimit-Requests-", ""}, {"tokens", "Anthropic-RateLimit-Tokens-", ""},
	{"input-tokens", "Anthropic-RateLimit-Input-Tokens-", ""}, {"output-tokens", "Anthropic-RateLimit-Output-Tokens-", ""},
}

// older is the number of sets that mean the same as RateLimit, and count only without it.
const older = 3

// Limits reads the limits of a service from a response: from RateLimit, X-RateLimit and the fields of OpenAI and
// Anthropic.
func Limits(h http.Header, now time.Time) (all []Limit) {
	policies := map[string]item{}
	for _, policy := range items(strings.Join(h.Values("RateLimit-Policy"), ",")) {
		policies[policy.name] = policy
	}
	for _, state := range items(strings.Join(h.Values("RateLimit"), ",")) {
		l := Limit{Unit: "requests", Remaining: state.number("r"), Quota: policies[state.name].number("q"), Reset: Unknown}
		if unit := policies[state.name].parameters["qu"]; unit != "" {
			l.Unit = strings.Trim(unit, `"`)
		}
		if t := state.number("t"); t >= 0 {
			l.Reset = seconds(float64(t))
		}
		if l.Remaining >= 0 {
			all = append(all, l)
		}
	}
	from := 0
	if len(all) > 0 {
		from = older
	}
	for _, s := range sets[from:] {
		of := func(part string) string { return strings.TrimSpace(h.Get(s.prefix + part + s.suffix)) }
		if remaining := whole(of("Remaining")); remaining >= 0 {
			all = append(all, Limit{s.unit, remaining, whole(of("Limit")), until(of("Reset"), now)})
		}
	}
	return all
}

// RetryAfter reads the field of that name: seconds, or a date.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n := whole(value); n >= 0 {
		return seconds(float64(n)), true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// Exhausted returns the time until there is quota again, if one of the limits has none left and says so.
func Exhausted(limits []Limit) (longest time.Duration, found bool) {
	for _, l := range limits {
		if l.Remaining == 0 && l.Reset >= 0 {
			longest, found = max(longest, l.Reset), true
		}
	}
	return longest, found
}

// until reads the time that is left, in the forms that services have: seconds, a duration, a Unix time or a date.
func until(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case !(n >= 0):
			return Unknown
		case n > 1e9: // a date: no wait takes thirty years
			return max(0, time.Unix(int64(min(n, 1<<40)), 0).Sub(now))
		}
		return seconds(n)
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d
	}
	for _, layout := range []string{time.RFC3339, http.TimeFormat} {
		if date, err := time.Parse(layout, text); err == nil {
			return max(0, date.Sub(now))
		}
	}
	return Unknown
}

// seconds is a time of at most 136 years, which is more than anybody waits.
func seconds(n float64) time.Duration { return time.Duration(min(n, 1<<32) * float64(time.Second)) }

// whole reads a number of at most 15 digits, -1 if it is none.
func whole(text string) int64 {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil && len(text) <= 15 {
		return int64(n)
	}
	return -1
}

// An item of a list of structured fields. Values of parameters are as they were written.
type item struct {
	name       string
	parameters map[string]string
}

func (i item) number(name string) int64 { return whole(i.parameters[name]) }

func items(list string) (all []item) {
	for _, text := range split(list, ',') {
		parts := split(text, ';')
		parameters := map[string]string{}
		for _, parameter := range parts[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			parameters[name] = value
		}
		all = append(all, item{strings.TrimSpace(parts[0]), parameters})
	}
	return all
}

// split cuts at separators outside quoted strings.
func split(text string, separator byte) (parts []string) {
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quoted:
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == separator && !quoted:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}
