// Package ratefields writes the fields of HTTP responses with the rest of a limit, for the HTTP API and for Envoy. The clients write the
// same, by clients/vectors/fields.json.
package ratefields

import "strings"

// Styles is a set of styles of fields.
type Styles uint8

// The styles.
const (
	Draft10        Styles = 1 << iota // RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-10; what -11 says of them holds, too
	Draft6                            // RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset of the drafts up to -06, and of envoyproxy/ratelimit
	XRateLimit                        // X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset in seconds
	XRateLimitDate                    // the same with X-RateLimit-Reset as a Unix time
)

var names = []struct {
	name  string
	style Styles
}{{"draft-10", Draft10}, {"draft-11", Draft10}, {"draft-6", Draft6}, {"x-ratelimit", XRateLimit}, {"x-ratelimit-date", XRateLimitDate}, {"none", 0}}

// Names are the names of styles, and none.
func Names() (all []string) {
	for _, n := range names {
		all = append(all, n.name)
	}
	return all
}

// Parse reads names of styles, separated by commas. ok is false for any other text: none stands alone, and X-RateLimit-Reset has one meaning.
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
