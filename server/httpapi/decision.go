package httpapi

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
)

// decision is the reply of RL.CHECK and RL.ALL by name.
type decision struct {
	Allowed bool    `json:"allowed"`
	Granted int64   `json:"granted"` // tokens taken from each limit without a cost
	Binding int64   `json:"binding"` // position of the limit that denied, -1 if none did
	WaitMs  int64   `json:"wait_ms"` // of a denial until the request would be granted, -1 for never; of a grant until it may go ahead
	Limits  []state `json:"limits"`

	leases          leases
	endsWithBalance bool // the last limit is a balance
}

// state is the state of one limit.
type state struct {
	Limit     int64 `json:"limit"`
	Remaining int64 `json:"remaining"`
	ResetMs   int64 `json:"reset_ms"`
	Warn      *bool `json:"warn,omitempty"` // whether that part of it is used; nil of a limit without WARN

	Granted *int64 `json:"granted,omitempty"` // what was taken from it, in a request whose last limit is a balance; nil in others
}

// denial is a decision with problem details.
type denial struct {
	problem
	Violated []string `json:"violated-policies,omitempty"`
	decision
}

// quotaExceeded is the problem type of draft-ietf-httpapi-ratelimit-headers, section 5.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// readDecision reads the reply of RL.CHECK or RL.ALL. A request for no tokens at all is granted if no limit denied it.
func readDecision(reply redcon.RESP) decision {
	in := numbers(reply.Raw)
	return in.decision()
}

// decision reads the reply of RL.CHECK or RL.ALL, and leaves what follows.
func (in *numbers) decision() (d decision) {
	in.next() // the length
	d.Granted, d.Binding, d.WaitMs = in.next(), in.next(), in.next()
	d.Allowed = d.Granted > 0
	d.Limits = make([]state, min(max(0, in.next()), engine.MaxParts))
	for i := range d.Limits {
		more := in.next() - 3
		d.endsWithBalance = more == 2
		d.Limits[i] = state{Limit: in.next(), Remaining: in.next(), ResetMs: in.next()}
		if more > 0 {
			if warn := in.next(); warn >= 0 {
				warns := warn == 1
				d.Limits[i].Warn = &warns
			}
		}
		if more == 2 {
			granted := in.next()
			d.Limits[i].Granted = &granted
		}
	}
	return d
}

// numbers is the rest of a reply of integers, and of arrays of them.
type numbers []byte

// next returns the next integer, or the length of the next array; 0 after the end.
func (in *numbers) next() int64 {
	line, rest, _ := bytes.Cut(*in, []byte("\r\n"))
	*in = rest
	if len(line) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(line[1:]), 10, 64)
	return n
}

// readIntegers reads the first elements of an array.
func readIntegers(reply redcon.RESP, to []int64) {
	at := 0
	reply.ForEach(func(n redcon.RESP) bool {
		to[at] = n.Int()
		at++
		return at < len(to)
	})
}

// tightest is the position of the limit that denied or, if none did, of the one with the smallest part left.
func (d *decision) tightest() int {
	if !d.Allowed && d.Binding >= 0 && d.Binding < int64(len(d.Limits)) {
		return int(d.Binding)
	}
	tightest := 0
	for i, l := range d.Limits {
		if t := d.Limits[tightest]; float64(l.Remaining)*float64(t.Limit) < float64(t.Remaining)*float64(l.Limit) {
			tightest = i
		}
	}
	return tightest
}

// needsPayment reports whether only more credits could help a request that was denied: it lacks credits of a balance,
// and waiting for its other limits would not be enough.
func (d *decision) needsPayment() bool {
	return !d.Allowed && d.endsWithBalance && d.WaitMs < 0 && d.Binding == int64(len(d.Limits))-1
}

// sendDecision answers with a decision: 200, 429, or 402 if only a payment would help.
func (s *Service) sendDecision(w http.ResponseWriter, name string, d *decision) {
	s.setFields(w.Header(), name, d)
	if d.Allowed {
		send(w, http.StatusOK, typeJSON, d.appendJSON(make([]byte, 0, 64+64*len(d.Limits))))
		return
	}
	body := d.denied(name)
	sendJSON(w, body.Status, typeProblem, body)
}

// denied is the body of a denial.
func (d *decision) denied(name string) denial {
	body := denial{problem: problem{Type: quotaExceeded, Title: "Too many requests", Status: http.StatusTooManyRequests}, Violated: []string{d.nameOf(name, d.tightest())}, decision: *d}
	switch {
	case d.needsPayment():
		body.problem = problem{Type: "about:blank", Title: http.StatusText(http.StatusPaymentRequired), Status: http.StatusPaymentRequired, Detail: "The balance has fewer credits than this request needs, and waiting does not help."}
	case d.WaitMs < 0:
		body.Detail = "This request asks for more than the limit can ever grant."
	}
	return body
}

// appendJSON is json.Marshal for the response that is sent most often.
func (d *decision) appendJSON(b []byte) []byte {
	b = appendMember(b, `{"allowed":true,"granted":`, d.Granted)
	b = appendMember(b, `,"binding":`, d.Binding)
	b = appendMember(b, `,"wait_ms":`, d.WaitMs)
	b = append(b, `,"limits":[`...)
	for i, l := range d.Limits {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(b, `{"limit":`, l.Limit)
		b = appendMember(b, `,"remaining":`, l.Remaining)
		b = appendMember(b, `,"reset_ms":`, l.ResetMs)
		if l.Warn != nil {
			b = strconv.AppendBool(append(b, `,"warn":`...), *l.Warn)
		}
		if l.Granted != nil {
			b = appendMember(b, `,"granted":`, *l.Granted)
		}
		b = append(b, '}')
	}
	return append(b, "]}\n"...)
}

func appendMember(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}
