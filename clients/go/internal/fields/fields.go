// Package fields reads and writes the RateLimit and RateLimit-Policy fields of HTTP, as
// draft-ietf-httpapi-ratelimit-headers-10 and -11 define them, and the older fields of other servers.
package fields

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Styles is a set of styles of fields. clients/vectors/fields.json has the fields of each.
type Styles uint8

// The styles.
const (
	Draft Styles = 1 << iota
	XRateLimit
	XRateLimitDate
	Draft6
)

// Unknown is a time that is not known.
const Unknown time.Duration = -1

// State is the state of one limit.
type State struct {
	Name             string
	Quota, Remaining int64
	Window           time.Duration // in which it refills, or Unknown
	More             time.Duration // until there is more, or Unknown
	Reset            time.Duration // until the limit is full, or Unknown if a request can never be granted
	Warns            bool          // its use has reached its threshold
}

// Write sets the fields of a limit. Those of Draft are lists, to which it is added.
func (s Styles) Write(h http.Header, l *State, now time.Time) {
	name, remaining, reset := quote(l.Name), itoa(max(0, l.Remaining)), Seconds(l.Reset)
	if s&Draft != 0 {
		h.Add("RateLimit-Policy", name+";q="+itoa(l.Quota)+parameter(";w=", l.Window))
		state := name + ";r=" + remaining + parameter(";t=", l.More)
		if l.Warns {
			state += ";stint-warn"
		}
		h.Add("RateLimit", state)
	}
	three := func(prefix string, reset int64) {
		h.Set(prefix+"Limit", itoa(l.Quota))
		h.Set(prefix+"Remaining", remaining)
		if l.Reset >= 0 {
			h.Set(prefix+"Reset", itoa(reset))
		}
	}
	if s&Draft6 != 0 {
		three("RateLimit-", reset)
	}
	switch {
	case s&XRateLimitDate != 0:
		three("X-RateLimit-", Seconds(time.Duration(now.UnixNano()))+reset)
	case s&XRateLimit != 0:
		three("X-RateLimit-", reset)
	}
}

func parameter(name string, d time.Duration) string {
	if d < 0 {
		return ""
	}
	return name + itoa(Seconds(d))
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Seconds rounds up, so that a client that waits so is not too early.
func Seconds(d time.Duration) int64 { return int64((max(d, 0) + time.Second - 1) / time.Second) }

// quote makes a string of structured fields. Bytes that are not allowed in one are written as in URLs, and so is %, so
// no two names look alike.
func quote(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if c == '"' || c == '\\' {
			b.WriteByte('\\')
		}
		if c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// RetryAfter reads the field of that name: seconds, or a date.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// Exhausted returns the time until there is quota again, if the response has none left: from RateLimit or, for older
// servers, from RateLimit-Remaining and RateLimit-Reset or the same with the prefix X-. The older fields hold the time
// until the whole quota is back, so they count only without RateLimit.
func Exhausted(h http.Header, now time.Time) (time.Duration, bool) {
	longest, found, present := time.Duration(0), false, false
	for _, item := range items(strings.Join(h.Values("RateLimit"), ",")) {
		remaining, hasRemaining := item["r"]
		reset, hasReset := item["t"]
		present = present || hasRemaining
		if hasRemaining && hasReset && remaining == 0 && reset >= 0 && reset <= math.MaxUint32 {
			longest, found = max(longest, time.Duration(reset)*time.Second), true
		}
	}
	if present {
		return longest, found
	}
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		if strings.TrimSpace(h.Get(prefix+"Remaining")) != "0" {
			continue
		}
		reset, err := strconv.ParseUint(strings.TrimSpace(h.Get(prefix+"Reset")), 10, 63)
		if err != nil {
			continue
		}
		if reset > 1e9 { // a date: no wait takes thirty years
			return max(0, time.Unix(int64(min(reset, 1<<40)), 0).Sub(now)), true
		}
		return time.Duration(reset) * time.Second, true
	}
	return 0, false
}

// items reads a list of structured fields and returns the integer parameters of each item.
func items(list string) (all []map[string]int64) {
	for _, item := range split(list, ',') {
		parts := split(item, ';')
		parameters := map[string]int64{}
		for _, parameter := range parts[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				parameters[name] = n
			}
		}
		all = append(all, parameters)
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
