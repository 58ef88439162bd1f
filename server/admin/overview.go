package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/topkeys"
)

// overview is the reply that the page requests every second.
type overview struct {
	Version  string                      `json:"version"`
	Ready    string                      `json:"ready"` // "ready", or why it is not
	UnixNano int64                       `json:"unixNano"`
	Metrics  map[string][]metrics.Sample `json:"metrics"`
	Overall  latency                     `json:"latency"` // of all commands that decide
	Top      topDenied                   `json:"top"`
	Lent     []lentKey                   `json:"lent"`
	Cluster  *clusterView                `json:"cluster"` // null for a server alone
}

// latency is in seconds, since the start; the page works out the last seconds from the buckets.
type latency struct {
	Count   int64     `json:"count"`
	Bounds  []float64 `json:"bounds"`
	Buckets []int64   `json:"buckets"` // not cumulative; the last has no bound
}

type topDenied struct {
	Mode    string   `json:"mode"` // plain, hashed or off
	Total   int64    `json:"total"`
	Weight  int64    `json:"weight"`
	Entries []topKey `json:"entries"`
}

type topKey struct {
	Key   string `json:"key"`
	Count int64  `json:"count"`
	Error int64  `json:"error"`
	Whole bool   `json:"whole"` // Key is the key itself, and can be asked for
}

// lentKey is a key of which tokens are lent.
type lentKey struct {
	Key    string     `json:"key"`
	Whole  bool       `json:"whole"` // as in topKey
	Tokens int64      `json:"tokens"`
	Loans  []loanView `json:"loans"`
}

type clusterView struct {
	NodeID  string       `json:"nodeId"`
	State   string       `json:"state"`
	Term    uint64       `json:"term"`
	Leader  string       `json:"leader"`
	Members []memberView `json:"members"`
}

type memberView struct {
	ID        string  `json:"id"`
	Addr      string  `json:"addr"`
	Client    string  `json:"client"`
	Voter     bool    `json:"voter"`
	Leader    bool    `json:"leader"`
	Reachable bool    `json:"reachable"`
	Lag       float64 `json:"lag"` // entries
	ContactMs float64 `json:"contactMs"`
}

const topShown = 20

func (a *Admin) overview(_ context.Context, s *server.Server, _ *http.Request) (any, error) {
	r := s.MetricsSnapshot()
	o := overview{Version: r.Version, Ready: "ready", UnixNano: s.Now(), Metrics: metrics.Samples(r), Overall: overall(r)}
	if err := s.Ready(); err != nil {
		o.Ready = err.Error()
	}
	entries, total := s.TopDenied(topShown)
	o.Top = topDenied{Mode: s.Config().TopKeys, Total: total, Weight: r.TopWeight, Entries: []topKey{}}
	for _, e := range entries {
		whole := o.Top.Mode == "plain" && len(e.Key) == e.Size
		o.Top.Entries = append(o.Top.Entries, topKey{string(e.Key), e.Count, e.Error, whole})
	}
	o.Lent = []lentKey{}
	for _, k := range s.TopLent(topShown) {
		shown := string(k.Key[:min(len(k.Key), topkeys.MaxKeyBytes)])
		o.Lent = append(o.Lent, lentKey{shown, o.Top.Mode == "plain" && len(shown) == len(k.Key), k.Tokens, loanViews(k.Loans)})
	}
	if c := r.Cluster; c != nil {
		o.Cluster = &clusterView{NodeID: c.NodeID, State: string(c.State), Term: c.Term, Leader: c.LeaderID}
		for _, m := range c.Members {
			o.Cluster.Members = append(o.Cluster.Members, memberView{m.ID, m.Addr, m.ClientAddr, m.Voter, m.Leader, m.Reachable,
				metrics.Lag(c.CommitIndex, m.AppliedIndex), float64(m.LastContact) / float64(time.Millisecond)})
		}
	}
	return o, nil
}

func overall(r *metrics.Snapshot) latency {
	var all metrics.Latencies
	for i := range r.Commands {
		if r.Commands[i].Decides {
			all.Merge(&r.Commands[i].Latency)
		}
	}
	bounds, counts := all.Cells()
	l := latency{Count: all.Count, Buckets: counts}
	for _, b := range bounds {
		l.Bounds = append(l.Bounds, time.Duration(b).Seconds())
	}
	return l
}
