package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/upstream"
)

// disk and nodes stand for state on disk and for a cluster: the metrics must show their values.
type disk struct {
	server.Persistence
	status atomic.Pointer[persistencestatus.Status]
}

func (d *disk) Status() persistencestatus.Status { return *d.status.Load() }

type nodes struct {
	server.Membership
	status atomic.Pointer[clusterstatus.Status]
}

func (n *nodes) Status() clusterstatus.Status { return *n.status.Load() }

func (n *nodes) Leads() bool { return n.Status().State == clusterstatus.Leader }

func (n *nodes) Leaders() uint64 { return n.Status().Term }

func (n *nodes) AwaitsImport() bool { return false }

func (n *nodes) Redirects(*engine.Op) (string, bool) { return "", false }

type home struct {
	status atomic.Pointer[upstream.Status]
}

func (h *home) Status() upstream.Status { return *h.status.Load() }

// services is a service that has the metrics of Envoy's rules and of HTTP.
type services struct {
	gateway.Service
	rules    atomic.Pointer[metrics.EnvoyRules]
	requests atomic.Int64
}

func (s *services) Start(*gateway.Gateway) ([]string, error) { return nil, nil }
func (s *services) Stop(context.Context)                     {}
func (s *services) Measure(r *metrics.Snapshot) {
	r.Envoy = s.rules.Load()
	r.HTTP = []metrics.HTTPCount{{Path: "/v1/check", Status: 200, Requests: s.requests.Load()}}
}

// still are the metrics that do not change while a server runs.
var still = map[string]string{"stint_build_info": "it says what is running"}

// Every metric of the table is exported, and changes on the events that it counts.
func TestEveryMetricMoves(t *testing.T) {
	d, n, u, s := &disk{}, &nodes{}, &home{}, &services{}
	s.rules.Store(&metrics.EnvoyRules{Control: &metrics.ControlPlane{}})
	u.status.Store(&upstream.Status{})
	d.status.Store(&persistencestatus.Status{Mode: "interval", Err: io.EOF, LastSaveErr: io.EOF, FlushedUntil: 1e9})
	n.status.Store(&clusterstatus.Status{State: clusterstatus.Starting, CommitLatency: clusterstatus.Latency{Bounds: []time.Duration{time.Second}, Counts: []int64{0, 0}},
		NodeID: "a", Groups: []clusterstatus.Group{{Number: 1}}, Members: []clusterstatus.Member{{ID: "a"}}, CommitIndex: 5, AppliedIndex: 5})
	h := newHost(t, func(cfg *config.Config, o *server.Options) {
		cfg.MaxClients, cfg.OutputBufferBytes, cfg.MaxBulkBytes, cfg.DenialEvents = 12, 256<<10, 128<<10, 1
		o.Persistence, o.Cluster, o.Upstream = d, n, u
		o.Services = []gateway.Service{s}
		o.Clock = clocktest.Slow(t, 20) // the sampling interval changes from 50,000 denials a second on: here, 2,500
	})
	h.Attach(h.server)
	before := h.series()
	h.serve()
	d.status.Store(&persistencestatus.Status{Mode: "interval", Saving: true, LastSave: 9e9, SnapshotBytes: 9, SnapshotKeys: 9, JournalBytes: 9, Journaled: 9, FlushedUntil: 9e9})
	n.status.Store(&clusterstatus.Status{State: clusterstatus.Leader, Healthy: true, Term: 9, LeaderID: "a", LastContact: 9, CommitIndex: 9, AppliedIndex: 7, LastSnapshotIndex: 9, LogBytes: 9, DiskStalled: true,
		NodeID: "a", Groups: []clusterstatus.Group{{Number: 1, LeaderID: "a", Term: 9, CommitIndex: 9, LogBytes: 9}},
		Shared:     clusterstatus.SharedLimits{Requests: 9, Short: 9, Denied: 9, Lent: 9, Returned: 9},
		ClockAhead: 9, LocalDecisions: 9, LentTokens: 9, HeldKeys: 9, Lends: 9, VoidedTokens: 9,
		Entries: 9, Rounds: 9, LogSyncs: 9, Decisions: 9, DecidedReadOnly: 9, DecidedByAllowance: 9, Forwarded: 9, UncertainOutcomes: 9, NoLeaderOutcomes: 9, LeaderChanges: 9,
		CommitLatency: clusterstatus.Latency{Bounds: []time.Duration{time.Second}, Counts: []int64{8, 1}, Sum: time.Minute},
		Members:       []clusterstatus.Member{{ID: "a", Reachable: true, LastContact: time.Second}, {ID: "b", AppliedIndex: 2}}})
	u.status.Store(&upstream.Status{Connected: true, Purses: 9, Local: 9, Asked: 9, Repeated: 9, Failed: 9, Uncertain: 9, GrantedAlone: 9, DeniedAlone: 9, Lends: 9, Lent: 9, Returned: 9, Dropped: 9})
	s.requests.Store(9)
	s.rules.Store(&metrics.EnvoyRules{Rules: 9, Refused: 9, Counts: []metrics.PolicyCounts{{Name: "d.k", Granted: 9}},
		Control: &metrics.ControlPlane{Accepted: 9, Refused: 9, Connected: true, Age: time.Minute},
		Quotas:  metrics.EnvoyQuotas{Streams: 9, Buckets: 9, Reports: 9, Changes: 9, Orphaned: 9, Abandoned: 9, Unanswered: 9}})
	stopLoad := h.happen()
	defer stopLoad()
	var after map[string]string
	for _, row := range metrics.Table {
		if still[row.Name] != "" {
			continue
		}
		h.eventually(row.Name+" moves", func() bool {
			if after == nil || after[row.Name] == before[row.Name] {
				after = h.series()
			}
			return after[row.Name] != before[row.Name]
		})
	}
	after = h.series()
	for _, row := range metrics.Table {
		if _, is := after[row.Name]; !is {
			t.Errorf("%s is not exported", row.Name)
		}
	}
	for name := range after {
		if strings.HasPrefix(name, "stint_") && !inTable(name) {
			t.Errorf("%s is exported and not in the table", name)
		}
	}
}

func inTable(name string) bool {
	for _, row := range metrics.Table {
		if row.Name == name {
			return true
		}
	}
	return false
}

// happen does everything that a client can cause. Things that only show while they last go on until the returned
// function is called.
func (h *host) happen() (stop func()) {
	c := h.dial()
	h.do(c, "CONFIG SET slowlog-log-slower-than 0", "CONFIG SET prefix-quotas q:=2 max-memory 512mb",
		"TB.ACQUIRE q:1 2 1/h", "TB.ACQUIRE q:2 2 1/h", "TB.ACQUIRE q:3 2 1/h",
		"RL.POLICY SET p TB p:{} 1 1/h", "RL.POLICY SET s TB s:{} 1 1/h SHADOW", "RL.CHECK p 1", "RL.CHECK p 1", "RL.CHECK s 1", "RL.CHECK s 1",
		"TB.ACQUIRE a 1 1/h", "TB.ACQUIRE a 1 1/h", "RL.LEND lent TB 80 1/h 1 worker 1 0", "TB.ACQUIRE", "FW.ACQUIRE warns 1 1h WARN 100%", "AUTH nobody secret", "TB.ACQUIRE gone 1 1000/s")
	blocked := h.dial()
	_, _ = blocked.Write(frames("TB.ACQUIRE block 1 1/m", "TB.ACQUIRE block 1 1/m BLOCK 5m"))
	subscribed := h.dial()
	_, _ = subscribed.Write(frames("SUBSCRIBE news"))
	watching := h.dial()
	_, _ = watching.Write(frames("MONITOR"))
	slow := h.dial()
	large := "ECHO " + strings.Repeat("x", 100_000)
	for h.scrape()["stint_monitor_dropped_total"] == 0 { // until the kernel keeps no more for who does not read
		h.do(c, large, large, large, large, large, large, large, large)
	}
	_ = slow.SetWriteDeadline(time.Now().Add(giveUp))
	h.do(c, "CONFIG SET output-timeout 100ms")
	for range 400 {
		if _, err := slow.Write(frames(large)); err != nil {
			break
		}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	deny, crowd := h.dial(), 0
	go func() {
		defer close(ended)
		denials := frames(strings.Split(strings.Repeat("TB.ACQUIRE a 1 1/h\n", 999)+"TB.ACQUIRE a 1 1/h", "\n")...)
		go func() { _, _ = io.Copy(io.Discard, deny) }()
		for {
			select {
			case <-end:
				return
			default:
			}
			if _, err := deny.Write(denials); err != nil {
				return
			}
		}
	}()
	h.eventually("no more clients are let in", func() bool {
		crowd++
		h.dial()
		return crowd > 15
	})
	return func() { close(end); deny.Close(); <-ended }
}

// Prometheus gets native histograms if it asks for them, with the same counts as the classic ones.
func TestNativeHistograms(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), strings.Split(strings.Repeat("TB.ACQUIRE k 5 1/s\n", 49)+"TB.ACQUIRE k 5 1/s", "\n")...)
	r, _ := http.NewRequest(http.MethodGet, "http://"+h.Address()+"/metrics", nil)
	r.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	decoder := expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header))
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); err != nil {
			t.Fatalf("no histogram of tb.acquire: %v", err)
		}
		for _, m := range family.Metric {
			if family.GetName() != "stint_command_duration_seconds" || m.Label[0].GetValue() != "tb.acquire" {
				continue
			}
			native, bucket := int64(m.Histogram.GetZeroCount()), int64(0)
			for _, delta := range m.Histogram.PositiveDelta {
				bucket += delta
				native += bucket
			}
			spans := uint32(0)
			for _, s := range m.Histogram.PositiveSpan {
				spans += s.GetLength()
			}
			last := m.Histogram.Bucket[len(m.Histogram.Bucket)-1].GetCumulativeCount()
			if native != 50 || m.Histogram.GetSampleCount() != 50 || last != 50 || int(spans) != len(m.Histogram.PositiveDelta) || m.Histogram.GetSchema() != 3 {
				t.Errorf("%v", m.Histogram)
			}
			return
		}
	}
}

// The number of series is limited, for any number of policies and keys.
func TestLabelsAreBounded(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	var commands []string
	for i := range 300 {
		commands = append(commands, fmt.Sprintf("RL.POLICY SET p%03d TB p%d:{} 1 1/h", i, i), fmt.Sprintf("RL.CHECK p%03d 1", i),
			fmt.Sprintf("TB.ACQUIRE k%d%s 1 1/h", i, strings.Repeat("x", 200)), fmt.Sprintf("TB.ACQUIRE k%d%s 1 1/h", i, strings.Repeat("x", 200)),
			fmt.Sprintf("nonsense%d", i))
	}
	h.do(h.dial(), commands...)
	_, body := h.get("/metrics")
	for name, most := range map[string]int{"stint_policy_decisions_total{": 3 * (metrics.MaxPolicies + 1), "stint_top_denied{": metrics.MaxTop, "stint_commands_total{": len(command.All) + 1} {
		if n := strings.Count(body, name); n == 0 || n > most {
			t.Errorf("%d series of %s, want up to %d", n, name, most)
		}
	}
	if n := strings.Count(body, "nonsense"); n != 0 {
		t.Errorf("%d labels with a client's words", n)
	}
	if sum := h.scrape()["stint_policy_decisions_total"]; sum != 300 {
		t.Errorf("%v decisions by policies, want 300", sum)
	}
	for line := range strings.Lines(body) {
		if len(line) > 400 && !strings.HasPrefix(line, "#") {
			t.Errorf("a line of %d bytes: %.100s", len(line), line)
		}
	}
}
