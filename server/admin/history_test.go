package admin

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/metrics"
)

// The ring keeps the last five minutes, and returns the samples that a page does not have yet.
func TestHistory(t *testing.T) {
	h := newHistory(historySize)
	now := metrics.Decisions{Granted: 7, Denied: 7} // from before the first sample
	at := int64(time.Hour)
	h.add(at, now)
	if samples, added := h.since(0); len(samples) != 0 || added != 0 {
		t.Errorf("one moment makes %d samples", len(samples))
	}
	const taken = historySize + 50
	for i := range int64(taken) {
		now.Granted += i
		now.Denied += 2
		at += int64(2 * time.Second)
		h.add(at, now)
	}
	h.add(at, now) // no time has passed
	for _, tc := range []struct{ since, first, count int64 }{
		{0, 50, historySize}, {40, 50, historySize}, {taken - 3, taken - 3, 3}, {taken, 0, 0}, {taken + 1, 50, historySize}, {-1, 50, historySize},
	} {
		samples, added := h.since(tc.since)
		if added != taken || int64(len(samples)) != tc.count {
			t.Fatalf("since %d: %d of %d samples, want %d of %d", tc.since, len(samples), added, tc.count, taken)
		}
		for i, got := range samples {
			if want := (sample{Seconds: 2, Granted: tc.first + int64(i), Denied: 2}); got != want {
				t.Fatalf("since %d: sample %d is %+v, want %+v", tc.since, i, got, want)
			}
		}
	}
	if got, want := h.decided(), int64((50+taken-1)*historySize/2+2*historySize); got != want {
		t.Errorf("%d decisions, want %d", got, want)
	}
}

// A server counts the decisions and latencies of which the history consists.
func TestHistoryOfAServer(t *testing.T) {
	t.Parallel() // it waits
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	own := newHistory(historySize)
	own.add(1, h.server.Decisions())
	h.do(c, "TB.ACQUIRE a 2 1/h", "TB.ACQUIRE a 2 1/h", "TB.ACQUIRE a 2 1/h", "PING")
	own.add(1+int64(time.Second), h.server.Decisions())
	samples, _ := own.since(0)
	if got := samples[0]; got.Granted != 2 || got.Denied != 1 || got.Median <= 0 || got.Tail < got.Median {
		t.Errorf("%+v", got)
	}
	sampled := regexp.MustCompile(`"history":\[.*"nodes":1,"granted":0,"denied":[1-9]`)
	h.eventually("a sample has a denial", func() bool {
		h.do(c, "TB.ACQUIRE a 2 1/h")
		_, got := h.get("/api/overview?since=0")
		return sampled.MatchString(got)
	})
	if status, got := h.get("/api/overview?since=yesterday"); status != 400 || !strings.Contains(got, "yesterday") {
		t.Errorf("%d %s", status, got)
	}
}

// A member whose report has no totals, like a node of 0.1.0, is listed without traffic.
func TestMembersWithoutTotals(t *testing.T) {
	n, totals := &nodes{}, &clusterstatus.Totals{At: 1}
	h := newHost(t, func(_ *config.Config, o *server.Options) { o.Cluster = n })
	n.status.Store(&clusterstatus.Status{Members: []clusterstatus.Member{
		{ID: "a", Report: &clusterstatus.Report{Totals: totals}}, {ID: "old", Report: &clusterstatus.Report{}}, {ID: "silent"}}})
	if got, want := h.members(h.server), map[string]*clusterstatus.Totals{"a": totals, "old": nil, "silent": nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
