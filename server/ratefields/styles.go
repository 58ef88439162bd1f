// Package ratefields writes the fields of HTTP responses that say what is left of a limit, for the HTTP API and for
// Envoy. The clients write the same fields, as clients/vectors/fields.json tests.
package ratefields

import "strings"

// Styles is a set of styles of fields.
type Styles uint8

// The styles.
const (
	Draft10        Styles = 1 << iota // RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-10, also as in -11
	Draft6                            // RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset of drafts up to -06 and envoyproxy/ratelimit
	XRateLimit                        // X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset in seconds
	XRateLimitDate                    // the same with X-RateLimit-Reset as a Unix time
)

var names = []struct {
	name  string
	style Styles
}{{"draft-10", Draft10}, {"draft-11", Draft10}, {"draft-6", Draft6}, {"x-ratelimit", XRateLimit}, {"x-ratelimit-date", XRateLimitDate}, {"none", 0}}

// Names returns the names of the styles, and "none".
func Names() (all []string) {
	for _, n := range names {
		all = append(all, n.name)
	}
	return all
}

// Parse parses names of styles, separated by commas. ok is false for any other text. "none" must be alone, and
// x-ratelimit and x-ratelimit-date exclude each other.
func Parse(text string) (s Styles, ok bool) {
	words := strings.Split(text, ",")
	for _, word := range words {
		known := false
		for _, n := range names {
			if n.name == strings.TrimSpace(word) {
				s, known = s|n.style, n.style != 0 || len(words) == 1
			}
		}
		if !known {
			return 0, false
		}
	}
	return s, s&(XRateLimit|XRateLimitDate) != XRateLimit|XRateLimitDate
}
