package admin

import (
	"bytes"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/recent"
	"github.com/stintdb/stint/server/topkeys"
)

// keyRecent counts the requests for a key that came to this node in the last five minutes.
type keyRecent struct {
	Granted []int64 `json:"granted"` // in spans of EveryMs, newest last
	Denied  []int64 `json:"denied"`
	EveryMs int64   `json:"everyMs"`
	KnownMs int64   `json:"knownMs"` // how far back the counts go
	OneIn   int64   `json:"oneIn"`   // one in this many callers is recorded
}

func newKeyRecent(every time.Duration) *keyRecent {
	spans := recent.Window / every
	return &keyRecent{Granted: make([]int64, spans), Denied: make([]int64, spans), EveryMs: every.Milliseconds(), OneIn: 1}
}

// count counts requests. ago is in nanoseconds.
func (v *keyRecent) count(ago, granted, denied int64) {
	if at := int64(len(v.Granted)) - 1 - max(0, ago)/(v.EveryMs*int64(time.Millisecond)); at >= 0 {
		v.Granted[at] += granted
		v.Denied[at] += denied
	}
}

// recentOf counts the recorded requests on the policies of a key. If there are none, it returns the counts of the key's
// denials, or nil.
func recentOf(s *server.Server, key []byte, policies []keyPolicy, denied topkeys.Entry) *keyRecent {
	if s.Config().TopKeys == "off" {
		return nil
	}
	now := s.Now()
	if v := recordedOf(s, key, policies, now); v != nil {
		return v
	}
	if len(denied.Minutes) == 0 {
		return nil
	}
	v := newKeyRecent(time.Minute)
	for _, m := range denied.Minutes {
		v.count(now-m.Start, m.Passed, m.Denied)
	}
	v.KnownMs = max(0, now-denied.Own.Since) / int64(time.Millisecond)
	return v
}

// recordedOf is recentOf from the record of requests, which has all requests of all callers, or of some callers.
func recordedOf(s *server.Server, key []byte, policies []keyPolicy, now int64) *keyRecent {
	v, found := newKeyRecent(time.Duration(denialSpan)), false
	v.KnownMs = recent.Window.Milliseconds()
	for i := range policies {
		p := &policies[i]
		recorded := s.Recent().Requests(p.Name, now)
		if len(recorded.All) == 0 {
			continue
		}
		v.OneIn, v.KnownMs = max(v.OneIn, recorded.OneIn), min(v.KnownMs, max(0, now-recorded.From)/int64(time.Millisecond))
		for i := range recorded.All {
			q := &recorded.All[i]
			if !p.asksFor(key, q) {
				continue
			}
			found = true
			if q.Denied {
				v.count(now-q.At, 0, 1)
			} else {
				v.count(now-q.At, 1, 0)
			}
		}
	}
	if !found {
		return nil
	}
	return v
}

// asksFor reports whether a request on the policy asked for tokens of a key.
func (p *keyPolicy) asksFor(key []byte, q *recent.Request) bool {
	if p.id != nil && !bytes.Equal(p.id, q.ID) { // faster than making the key
		return false
	}
	for i := range p.templates {
		made, _ := p.templates[i].AppendTo(nil, q.ID, q.Fields)
		if bytes.Equal(made, key) {
			return true
		}
	}
	return false
}
