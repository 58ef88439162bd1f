package httpapi

import (
	"net/http"
	"strconv"

	"github.com/tidwall/redcon"
)

// decision is the reply of RL.CHECK and RL.ALL by name.
type decision struct {
	Allowed bool    `json:"allowed"`
	Granted int64   `json:"granted"` // tokens taken from each limit without a cost
	Binding int64   `json:"binding"` // position of the limit that denied, -1 if none did
	WaitMs  int64   `json:"wait_ms"` // of a denial until the request would be granted, -1 for never; of a grant until it may go ahead
	Limits  []state `json:"limits"`
}

// state is that of one limit.
type state struct {
	Limit     int64 `json:"limit"`
	Remaining int64 `json:"remaining"`
	ResetMs   int64 `json:"reset_ms"`
}

// denial is a decision with problem details.
type denial struct {
	problem
	Violated []string `json:"violated-policies,omitempty"`
	decision
}

// quotaExceeded is the problem type of draft-ietf-httpapi-ratelimit-headers-10, section 5.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// readDecision reads the reply of RL.CHECK or RL.ALL. A request for no tokens at all is granted if no limit denied it.
func readDecision(reply redcon.RESP) (d decision) {
	at := 0
	reply.ForEach(func(part redcon.RESP) bool {
		switch at++; at {
		case 1:
			d.Granted = part.Int()
		case 2:
			d.Binding = part.Int()
		case 3:
			d.WaitMs = part.Int()
		case 4:
			d.Limits = make([]state, 0, part.Count)
			part.ForEach(func(limit redcon.RESP) bool {
				d.Limits = append(d.Limits, readState(limit))
				return true
			})
		}
		return true
	})
	d.Allowed = d.Granted > 0
	return d
}

func readState(reply redcon.RESP) (s state) {
	at := 0
	reply.ForEach(func(n redcon.RESP) bool {
		switch at++; at {
		case 1:
			s.Limit = n.Int()
		case 2:
			s.Remaining = n.Int()
		case 3:
			s.ResetMs = n.Int()
		}
		return true
	})
	return s
}

// tightest is the limit that denied or, if none did, the one with the smallest part left.
func (d *decision) tightest() state {
	if !d.Allowed && d.Binding >= 0 && d.Binding < int64(len(d.Limits)) {
		return d.Limits[d.Binding]
	}
	tightest := d.Limits[0]
	for _, l := range d.Limits[1:] {
		if float64(l.Remaining)*float64(tightest.Limit) < float64(tightest.Remaining)*float64(l.Limit) {
			tightest = l
		}
	}
	return tightest
}

// sendDecision answers with a decision: 200, or the status for denials.
func sendDecision(w http.ResponseWriter, name string, d *decision, denied int) {
	setFields(w.Header(), name, d)
	if d.Allowed {
		send(w, http.StatusOK, typeJSON, d.appendJSON(make([]byte, 0, 64+64*len(d.Limits))))
		return
	}
	body := denial{problem: problem{Type: quotaExceeded, Title: "Too many requests", Status: denied}, Violated: []string{name}, decision: *d}
	if d.WaitMs < 0 {
		body.Detail = "This request asks for more than the limit can ever grant."
	}
	sendJSON(w, denied, typeProblem, body)
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
		b = append(appendMember(b, `,"reset_ms":`, l.ResetMs), '}')
	}
	return append(b, "]}\n"...)
}

func appendMember(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}
