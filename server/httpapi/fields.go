package httpapi

import (
	"net/http"
	"strconv"
	"strings"
)

// setFields sets RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-10 for the limit that matters: the one that
// denied or, if none did, the one with the smallest part of it left. Of a denial, t and Retry-After are both the time until the
// request would be granted, so neither is earlier than the other; of a grant, the time until there is more is not known.
func setFields(h http.Header, name string, d *decision) {
	if len(d.Limits) == 0 {
		return
	}
	l := d.tightest()
	item := quote(name)
	limit := item + ";r=" + itoa(max(0, l.Remaining))
	if !d.Allowed && d.WaitMs >= 0 {
		after := itoa(max(1, (d.WaitMs+999)/1000))
		limit += ";t=" + after
		h["Retry-After"] = []string{after}
	}
	values := [2]string{limit, item + ";q=" + itoa(l.Limit)}
	h["Ratelimit"], h["Ratelimit-Policy"] = values[:1:1], values[1:]
}

// quote makes a string of structured fields. Characters that are not allowed in one are left out, line breaks among them.
func quote(name string) string {
	var b strings.Builder
	b.Grow(len(name) + 2)
	b.WriteByte('"')
	for _, c := range []byte(name[:min(len(name), maxNameInField)]) {
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

// maxNameInField bounds the name of a policy in fields, which proxies bound.
const maxNameInField = 128

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
