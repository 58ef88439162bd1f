// Package fields reads and writes the RateLimit and RateLimit-Policy fields of HTTP, as
// draft-ietf-httpapi-ratelimit-headers-10 defines them, and what servers sent before.
package fields

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Seconds rounds up, as whoever waits that long must not come too early.
func Seconds(d time.Duration) int64 { return int64((max(d, 0) + time.Second - 1) / time.Second) }

// Policy is an item of RateLimit-Policy: a quota, and the window it is for if that is known.
func Policy(name string, quota int64, window time.Duration) string {
	item := quote(name) + ";q=" + strconv.FormatInt(quota, 10)
	if window > 0 {
		item += ";w=" + strconv.FormatInt(Seconds(window), 10)
	}
	return item
}

// Limit is an item of RateLimit: what is left, and when the quota is whole again.
func Limit(name string, remaining int64, reset time.Duration) string {
	return quote(name) + ";r=" + strconv.FormatInt(max(remaining, 0), 10) + ";t=" + strconv.FormatInt(Seconds(reset), 10)
}

// quote makes a string of structured fields. What cannot stand in one is left out.
func quote(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if c == '"' || c == '\\' {
			b.WriteByte('\\')
		}
		if c >= ' ' && c <= '~' {
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

// Exhausted reads from a response when there is quota again, if it says that there is none left: from RateLimit or, as
// older servers have it, from RateLimit-Remaining and RateLimit-Reset or the same with an X- in front.
func Exhausted(h http.Header, now time.Time) (time.Duration, bool) {
	longest, found := time.Duration(0), false
	for _, item := range items(strings.Join(h.Values("RateLimit"), ",")) {
		remaining, hasRemaining := item["r"]
		reset, hasReset := item["t"]
		if hasRemaining && hasReset && remaining == 0 && reset >= 0 && reset <= math.MaxUint32 {
			longest, found = max(longest, time.Duration(reset)*time.Second), true
		}
	}
	if found {
		return longest, true
	}
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		if strings.TrimSpace(h.Get(prefix+"Remaining")) != "0" {
			continue
		}
		reset, err := strconv.ParseUint(strings.TrimSpace(h.Get(prefix+"Reset")), 10, 63)
		if err != nil {
			continue
		}
		if reset > 1e9 { // a date: nobody has to wait for thirty years
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

// split cuts at a separator that does not stand in a quoted string.
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
