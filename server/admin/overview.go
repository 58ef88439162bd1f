package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/traffic"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/topkeys"
)

// overview is the reply that the page requests every second.
type overview struct {
	Version  string                      `json:"version"`
	Ready    string                      `json:"ready"` // "ready", or why it is not
	Problems []problem                   `json:"problems"`
	UnixNano int64                       `json:"unixNano"`
	Metrics  map[string][]metrics.Sample `json:"metrics"`
	Node     string                      `json:"node"`    // the node of the history, "" for all nodes
	Last     *sample                     `json:"last"`    // of this node; null if there is none yet
	History  []traffic.Point             `json:"history"` // new points, and the last ones that the page has, which may have changed
	Events   []clusterstatus.Event       `json:"events"`  // newest first
	Bites    bitesView                   `json:"bites"`
	Top      topDenied                   `json:"top"`
	Lent     []lentKey                   `json:"lent"`
	Cluster  *clusterView                `json:"cluster"` // null for a standalone server
}

// bitesView is the limits that deny most at all nodes together.
type bitesView struct {
	Limits  []clusterstatus.Bite `json:"limits"`
	Denials int64                `json:"denials"` // of all keys
	Nodes   nodesView            `json:"nodes"`
}

type topDenied struct {
	Mode    string   `json:"mode"` // plain, hashed or off
	Total   int64    `json:"total"`
	Weight  int64    `json:"weight"`
	Entries []topKey `json:"entries"`
}

// lentKey is a key with lent tokens.
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
	Groups  []groupView  `json:"groups"` // of keys; empty if one leader decides all keys
}

type groupView struct {
	Group    int      `json:"group"`
	Slots    string   `json:"slots"`
	Leader   string   `json:"leader"` // "" while none is known
	Term     uint64   `json:"term"`
	Lag      float64  `json:"lag"` // of this node, in entries
	LogBytes int64    `json:"logBytes"`
	Replicas []string `json:"replicas"` // the voters
}

type memberView struct {
	ID        string  `json:"id"`
	Addr      string  `json:"addr"`
	Client    string  `json:"client"`
	Voter     bool    `json:"voter"`
	Leader    bool    `json:"leader"`
	Reachable bool    `json:"reachable"`
	Lag       float64 `json:"lag"` // in entries
	ContactMs float64 `json:"contactMs"`

	Traffic *clusterstatus.Report `json:"traffic"` // null if the node reports none
}

const (
	topShown    = 20
	pointsAgain = 15 // seconds after which a point no longer changes, because later reports are ignored
)

func (a *Admin) overview(ctx context.Context, s *server.Server, request *http.Request) (any, error) {
	query, since := request.URL.Query(), int64(0)
	if text := query.Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, userError{fmt.Sprintf("since must be the time of the newest point that the page has, in seconds, not %q", text)}
		}
	}
	a.watched.Store(time.Now().UnixNano())
	r := s.MetricsSnapshot()
	o := overview{Version: r.Version, Ready: "ready", UnixNano: s.Now(), Metrics: metrics.Samples(r)}
	o.Node, o.Last = query.Get("node"), a.history.last()
	o.History = a.traffic.Seconds(since-pointsAgain, o.Node)
	if err := s.Ready(); err != nil {
		o.Ready = err.Error()
	}
	o.Problems = a.lookAround(s, r)
	o.Events = eventsView(s.Events().List(), r.Cluster)
	all, nodes := sum(a.Counts(), r.Cluster)
	o.Bites = bitesView{append([]clusterstatus.Bite{}, all.Bites...), all.Denials, nodes}
	entries, total := s.TopDenied(topShown)
	o.Top = topDenied{Mode: s.Config().TopKeys, Total: total, Weight: r.TopWeight, Entries: a.bites.topKeys(ctx, s, entries)}
	o.Lent = []lentKey{}
	for _, k := range s.TopLent(topShown) {
		shown := string(k.Key[:min(len(k.Key), topkeys.MaxKeyBytes)])
		o.Lent = append(o.Lent, lentKey{bytetext.Shown(shown), utf8.ValidString(shown) && o.Top.Mode == "plain" && len(shown) == len(k.Key), k.Tokens, loanViews(k.Loans)})
	}
	o.Cluster = clusterViewOf(r.Cluster)
	return o, nil
}

func clusterViewOf(c *clusterstatus.Status) *clusterView {
	if c == nil {
		return nil
	}
	v := &clusterView{NodeID: c.NodeID, State: string(c.State), Term: c.Term, Leader: c.LeaderID, Groups: []groupView{}}
	for _, m := range c.Members {
		if m.Report != nil { // without its counts, which are added up elsewhere
			report := *m.Report
			report.Counts, m.Report = nil, &report
		}
		v.Members = append(v.Members, memberView{m.ID, m.Addr, m.ClientAddr, m.Voter, m.Leader, m.Reachable,
			metrics.Lag(c.CommitIndex, m.AppliedIndex), float64(m.LastContact) / float64(time.Millisecond), m.Report})
	}
	for _, g := range c.Groups {
		v.Groups = append(v.Groups, groupView{g.Number, fmt.Sprintf("%d-%d", g.FirstSlot, g.LastSlot), g.LeaderID, g.Term, metrics.Lag(g.CommitIndex, g.AppliedIndex), g.LogBytes, append([]string{}, g.Replicas...)})
	}
	return v
}
