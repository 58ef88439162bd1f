package httppace

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// retriable reports whether a retry is safe and may help.
func retriable(r *http.Request, response *http.Response, err error, says bool) bool {
	idempotent := r.Header.Get("Idempotency-Key") != ""
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		idempotent = true
	}
	if err != nil {
		return idempotent
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable:
		return idempotent || says
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return idempotent
	}
	return false
}

// again makes a copy of the request for a retry.
func again(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	next := r.Clone(r.Context())
	next.Body = body
	return next, true
}

// backoff is a random part of a time that doubles with every attempt.
func (t *Transport) backoff(attempt int) time.Duration {
	most := min(or(t.Backoff, DefaultBackoff)<<min(attempt-1, 20), or(t.MaxBackoff, DefaultMaxBackoff))
	return most/2 + rand.N(most/2+1)
}

// earn and spend keep retries within their share of all requests.
func (t *Transport) earn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.budget = min(0, t.budget+or(t.RetryShare, DefaultRetryShare))
}

func (t *Transport) spend() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.budget-1 < -retryReserve {
		return false
	}
	t.budget--
	return true
}
