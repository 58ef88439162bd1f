// Package fields reads and writes the RateLimit and RateLimit-Policy fields of HTTP, as
// draft-ietf-httpapi-ratelimit-headers-10 and -11 define them, and the fields of other servers.
package fields

import (
	"fmt"
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
