// Package fields reads and writes the RateLimit and RateLimit-Policy fields of HTTP, as
// draft-ietf-httpapi-ratelimit-headers-10 defines them, and reads the older fields of other servers.
package fields

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Seconds rounds up, so that a client that waits so is not too early.
func Seconds(d time.Duration) int64 { return int64((max(d, 0) + time.Second - 1) / time.Second) }

// Policy is an item of RateLimit-Policy: a quota, and its window if that is known.
func Policy(name string, quota int64, window time.Duration) string {
	item := quote(name) + ";q=" + strconv.FormatInt(quota, 10)
	if window > 0 {
		item += ";w=" + strconv.FormatInt(Seconds(window), 10)
	}
	return item
}

// Limit is an item of RateLimit: the remaining quota, and the time until there is more, if that is known.
func Limit(name string, remaining int64, more time.Duration, known bool) string {
	item := quote(name) + ";r=" + strconv.FormatInt(max(remaining, 0), 10)
	if known {
		item += ";t=" + strconv.FormatInt(Seconds(more), 10)
	}
	return item
}

// quote makes a string of structured fields. Bytes that are not allowed in one are written as in URLs, and so is %, so no two names look alike.
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
