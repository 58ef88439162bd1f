package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/metrics"
)

const (
	historySize  = 300
	daySize      = 24 * 60
	sampleEvery  = time.Second
	minuteEvery  = 60 // samples of the history for one of a minute
	medianPart   = 0.5
	slowestParts = 0.99
)

// sample is the decisions between two moments.
type sample struct {
	Seconds float64 `json:"seconds"`
	Granted int64   `json:"granted"`
	Denied  int64   `json:"denied"`
	Median  float64 `json:"median"` // latency in seconds, 0 without commands
	Tail    float64 `json:"tail"`   // latency that 99 % do not exceed
}

// history is a ring of the last samples.
type history struct {
	mu      sync.Mutex
	samples []sample
	added   int64 // since the start
	at      int64 // the last moment
	counted metrics.Decisions
}

func newHistory(size int) *history { return &history{samples: make([]sample, size)} }

// add takes a sample: the decisions counted up to a moment, less those of the last moment.
func (h *history) add(at int64, now metrics.Decisions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, passed := h.counted, at-h.at
	first := h.at == 0
	h.at, h.counted = at, now
	if first || passed <= 0 {
		return
	}
	latency := now.Latency.Since(&before.Latency)
	h.samples[h.added%int64(len(h.samples))] = sample{
		Seconds: time.Duration(passed).Seconds(), Granted: now.Granted - before.Granted, Denied: now.Denied - before.Denied,
		Median: time.Duration(latency.Quantile(medianPart)).Seconds(), Tail: time.Duration(latency.Quantile(slowestParts)).Seconds(),
	}
	h.added++
}

// since returns the samples behind the first n, as far as they are kept, and how many there have been. A larger n than that
// is of an earlier process: all are returned.
func (h *history) since(n int64) (samples []sample, added int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n < 0 || n > h.added {
		n = 0
	}
	samples = []sample{}
	for i := max(n, h.added-int64(len(h.samples))); i < h.added; i++ {
		samples = append(samples, h.samples[i%int64(len(h.samples))])
	}
	return samples, h.added
}

// last is the newest sample, nil if there is none.
func (h *history) last() *sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.added == 0 {
		return nil
	}
	last := h.samples[(h.added-1)%int64(len(h.samples))]
	return &last
}

// totals are the decisions counted up to the last moment, nil if there was none.
func (h *history) totals() *clusterstatus.Totals {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == 0 {
		return nil
	}
	return &clusterstatus.Totals{At: h.at, Granted: h.counted.Granted, Denied: h.counted.Denied}
}

// decided is the number of decisions in the samples that are kept.
func (h *history) decided() (sum int64) {
	samples, _ := h.since(0)
	for i := range samples {
		sum += samples[i].Granted + samples[i].Denied
	}
	return sum
}

// dayHistory is the reply to a page that shows more than the last minutes.
type dayHistory struct {
	History []point `json:"history"` // one a minute
}

func (a *Admin) lastDay(_ context.Context, _ *server.Server, r *http.Request) (any, error) {
	return dayHistory{a.traffic.points(&a.traffic.minutes, 0, r.URL.Query().Get("node"))}, nil
}

// Report is the traffic of this node's own clients in the last second; nil before there is a server.
func (a *Admin) Report() *clusterstatus.Report {
	if a == nil || a.about.Load() == nil {
		return nil
	}
	s := a.about.Load()
	cfg := s.Config()
	r := &clusterstatus.Report{Admin: cfg.AnnouncedAdmin(a.address), Connections: s.Connections()}
	totals := a.history.totals()
	if totals == nil {
		return r
	}
	if last := a.history.last(); last != nil {
		r.Granted, r.Denied = float64(last.Granted)/last.Seconds, float64(last.Denied)/last.Seconds
		totals.Median, totals.Tail = last.Median, last.Tail
	}
	if last := a.minute.last(); last != nil {
		totals.MinuteAt, totals.MinuteMedian, totals.MinuteTail = a.minute.totals().At, last.Median, last.Tail
	}
	r.Totals = totals
	return r
}

// record samples a server until the end, and looks for problems now and then.
func (a *Admin) record(s *server.Server) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		a.history.add(s.Now(), s.Decisions())
		if n%minuteEvery == 0 {
			a.minute.add(s.Now(), s.Decisions())
		}
		a.traffic.look(s.Now(), a.members(s))
		if n%problemsEvery == 0 {
			a.lookAround(s, s.MetricsSnapshot())
		}
		if n%problemsEvery == problemsEvery-1 {
			a.bites.look(s)
		}
		select {
		case <-a.stop:
			return
		case <-tick.C:
		}
	}
}
