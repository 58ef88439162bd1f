package ratefields

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Unknown stands for an unknown number of seconds.
const Unknown = -1

// Limit is the state of one limit.
type Limit struct {
	Name      string // unique in the response, and as returned by [Escape]
	Quota     int64
	Remaining int64
	Window    int64 // seconds in which it refills, or Unknown
	More      int64 // seconds until there is more quota, or Unknown; until then, as draft-11 requires, only Remaining can be used
	Reset     int64 // seconds until the limit is full, or Unknown if a request can never be granted
	Warns     bool  // its use has reached its threshold
	Leases    bool  // it counts requests under way, not requests in a time
}

// Seconds rounds milliseconds up to seconds, so that a client that waits this long is not too early. Negative
// milliseconds, which mean never, are Unknown.
func Seconds(ms int64) int64 {
	if ms < 0 {
		return Unknown
	}
	return (ms + 999) / 1000
}

// maxField is the length of a field after which no more limits are added, because proxies limit the header of a
// response: nginx at 4 KiB.
const maxField = 1000

// Write sets the fields for limits, of which the tightest must be the first. Only the fields of Draft10 show the
// others.
func (s Styles) Write(limits []Limit, now time.Time, set func(field, value string)) {
	if len(limits) == 0 {
		return
	}
	if s&Draft10 != 0 {
		setLists(limits, set)
	}
	l := &limits[0]
	if s&Draft6 != 0 {
		set("RateLimit-Limit", itoa(l.Quota))
		set("RateLimit-Remaining", itoa(max(0, l.Remaining)))
		if l.Reset >= 0 {
			set("RateLimit-Reset", itoa(l.Reset))
		}
	}
	if s&(XRateLimit|XRateLimitDate) == 0 {
		return
	}
	set("X-RateLimit-Limit", itoa(l.Quota))
	set("X-RateLimit-Remaining", itoa(max(0, l.Remaining)))
	switch {
	case l.Reset < 0:
	case s&XRateLimitDate != 0:
		set("X-RateLimit-Reset", itoa((now.UnixMilli()+999)/1000+l.Reset))
	default:
		set("X-RateLimit-Reset", itoa(l.Reset))
	}
}

// Fields returns the names of the fields that Write can set.
func (s Styles) Fields() (all []string) {
	l := Limit{}
	s.Write([]Limit{l}, time.Time{}, func(field, _ string) { all = append(all, field) })
	return all
}

// setLists sets RateLimit and RateLimit-Policy.
func setLists(limits []Limit, set func(field, value string)) {
	state, policy := make([]byte, 0, 128), make([]byte, 0, 128)
	for i := range limits {
		if i > 0 {
			if len(state) > maxField || len(policy) > maxField {
				break
			}
			state, policy = append(state, ", "...), append(policy, ", "...)
		}
		l := &limits[i]
		state = appendParameter(appendName(state, l.Name), ";r=", max(0, l.Remaining))
		state = appendParameter(state, ";t=", l.More)
		if l.Warns {
			state = append(state, warned...)
		}
		policy = appendParameter(appendName(policy, l.Name), ";q=", l.Quota)
		if l.Leases {
			policy = append(policy, `;qu="concurrent-requests"`...)
		}
		policy = appendParameter(policy, ";w=", l.Window)
	}
	both := string(append(state, policy...))
	set("RateLimit-Policy", both[len(state):])
	set("RateLimit", both[:len(state)])
}

// warned is a parameter of RateLimit that no draft defines. The drafts want such a name to begin with the product's
// name.
const warned = ";stint-warn"

func appendParameter(b []byte, name string, n int64) []byte {
	if n == Unknown {
		return b
	}
	return strconv.AppendInt(append(b, name...), n, 10)
}

// appendName appends a name as a string of structured fields.
func appendName(b []byte, name string) []byte {
	b = append(b, '"')
	for i := range len(name) {
		if name[i] == '"' || name[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return append(b, '"')
}

// IsPlain reports whether [Escape] leaves a byte as it is.
func IsPlain(c byte) bool { return c >= ' ' && c <= '~' && c != '%' }

// Escape writes bytes that a string of structured fields cannot contain as in URLs, and also %, so that no two names
// become the same.
func Escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; IsPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
