package httplimit

import (
	"encoding/json"
	"net/http"
	"strconv"

	stint "github.com/stintdb/stint/clients/go"
)

// The problem types of draft-ietf-httpapi-ratelimit-headers-10, section 5.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Status is the status of the response to a denied request: 429 if a limit was reached, 402 if only a payment helps, and
// 503 if Stint did not answer and the limiter's fallback is to deny.
func Status(denied stint.Result) int {
	switch {
	case denied.Source == stint.Fallback:
		return http.StatusServiceUnavailable
	case denied.NeedsPayment:
		return http.StatusPaymentRequired
	}
	return http.StatusTooManyRequests
}

// problem answers with the problem details of RFC 9457.
func problem(w http.ResponseWriter, name string, denied stint.Result) {
	body := struct {
		Type     string   `json:"type"`
		Title    string   `json:"title"`
		Status   int      `json:"status"`
		Detail   string   `json:"detail,omitempty"`
		Violated []string `json:"violated-policies,omitempty"`
	}{Type: quotaExceeded, Title: "Too many requests", Status: Status(denied), Violated: []string{name}}
	switch {
	case denied.Source == stint.Fallback:
		body.Type, body.Title, body.Violated = reducedCapacity, "Requests cannot be counted at present", nil
	case denied.NeedsPayment:
		body.Type, body.Title = "about:blank", "Payment Required"
		body.Detail = "The balance has fewer credits than this request needs, and waiting does not help."
	case denied.RetryAfter == stint.Never:
		body.Detail = "This request costs more than the limit of " + itoa(denied.Limit) + "."
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("Content-Length")
	w.WriteHeader(body.Status)
	_ = json.NewEncoder(w).Encode(body) // it fails only if the client has gone
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
