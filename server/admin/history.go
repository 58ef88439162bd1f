package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/traffic"
	"github.com/stintdb/stint/server/metrics"
)

const (
	historySize  = 300
	sampleEvery  = time.Second
	minuteEvery  = 60 // samples of a second for one sample of a minute
	medianPart   = 0.5
	slowestParts = 0.99
)

// sample is the decisions between two moments.
type sample struct {
	Seconds float64 `json:"seconds"`
	Granted int64   `json:"granted"`
	Denied  int64   `json:"denied"`
	Median  float64 `json:"median"` // latency in seconds, 0 without commands
	Tail    float64 `json:"tail"`   // latency at the 99th percentile
}

// history is a ring of the last samples.
type history struct {
	mu      sync.Mutex
	samples []sample
	added   int64 // the number of samples since the start
	at      int64 // the time of the last sample
	counted metrics.Decisions
}

func newHistory(size int) *history { return &history{samples: make([]sample, size)} }

// add adds a sample: the decisions since the last sample. now counts all decisions up to at.
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

// since returns the samples after the first n, as far as they are kept, and the number of samples so far. If n is
// larger than that, it comes from an earlier process, and since returns all samples.
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

// last returns the newest sample, nil if there is none.
func (h *history) last() *sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.added == 0 {
		return nil
	}
	last := h.samples[(h.added-1)%int64(len(h.samples))]
	return &last
}

// totals returns the decisions counted up to the last sample, nil if there is none.
func (h *history) totals() *clusterstatus.Totals {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == 0 {
		return nil
	}
	return &clusterstatus.Totals{At: h.at, Granted: h.counted.Granted, Denied: h.counted.Denied}
}

// decided returns the number of decisions in the samples that are kept.
func (h *history) decided() (sum int64) {
	samples, _ := h.since(0)
	for i := range samples {
		sum += samples[i].Granted + samples[i].Denied
	}
	return sum
}

// dayHistory is the reply to a page that shows more than the last minutes.
type dayHistory struct {
	History []traffic.Point `json:"history"` // one per minute
}

func (a *Admin) lastDay(_ context.Context, _ *server.Server, r *http.Request) (any, error) {
	return dayHistory{a.traffic.Minutes(r.URL.Query().Get("node"))}, nil
}

// Report returns the traffic of this node's own clients in the last second. It is nil until there is a server.
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

// record samples a server until Close, and sometimes looks for problems.
func (a *Admin) record(s *server.Server) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		a.history.add(s.Now(), s.Decisions())
		if n%minuteEvery == 0 {
			a.minute.add(s.Now(), s.Decisions())
		}
		a.traffic.Look(s.Now(), a.members(s))
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

// members returns the last reports of all members of the cluster. A standalone server is a member named "".
func (a *Admin) members(s *server.Server) map[string]*clusterstatus.Totals {
	all := map[string]*clusterstatus.Totals{}
	if cluster := s.Membership(); cluster != nil {
		for _, m := range cluster.Status().Members {
			if all[m.ID] = nil; m.Report != nil {
				all[m.ID] = m.Report.Totals
			}
		}
		return all
	}
	all[""] = a.Report().Totals
	return all
}
