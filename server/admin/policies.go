package admin

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/callers"
	"github.com/stintdb/stint/server/command/limiter"
)

// The limits of the policies that the page shows.
const (
	policiesShown = 50
	fillScan      = 5_000           // keys looked through for fill levels
	fillCallers   = 500             // callers of a limit whose fill level is looked up
	fillFor       = 2 * time.Second // how long a result is kept
)

type policiesView struct {
	Count    int          `json:"count"` // the number of all policies; the first by name are listed
	Looked   int          `json:"looked"`
	Keys     int          `json:"keys"`
	Policies []policyView `json:"policies"`
	Nodes    nodesView    `json:"nodes"`    // whose counts are added up
	Recorded []string     `json:"recorded"` // policies whose recent requests can be replayed
}

type policyView struct {
	Name         string      `json:"name"`
	Shadow       bool        `json:"shadow"`
	Strict       bool        `json:"strict"`
	Overrides    int         `json:"overrides"`
	Here         bool        `json:"here"` // the counts are only this node's, because names are too long to send
	Granted      int64       `json:"granted"`
	Denied       int64       `json:"denied"`
	ShadowDenied int64       `json:"shadowDenied"`
	Limits       []limitView `json:"limits"`
}

// limitView is a limit and how much of it is taken by the callers that were looked at.
type limitView struct {
	Spec    string  `json:"spec"`
	Shared  bool    `json:"shared"`
	Callers int     `json:"callers"`
	Full    int     `json:"full"` // callers with nothing left
	Mean    float64 `json:"mean"` // from 0, nothing is taken, to 1, everything
	Most    float64 `json:"most"`
	MostKey string  `json:"mostKey"`
	Bins    [10]int `json:"bins"` // callers by the tenths that they have taken
}

// fills keeps the last result for a while, because going through keys is costly and several operators may look.
type fills struct {
	mu   sync.Mutex
	at   time.Time
	last *policiesView
}

func (a *Admin) policies(ctx context.Context, s *server.Server, _ *http.Request) (any, error) {
	a.fills.mu.Lock()
	defer a.fills.mu.Unlock()
	if a.fills.last != nil && time.Since(a.fills.at) < fillFor {
		return a.fills.last, nil
	}
	names := s.Keys().PolicyNames()
	v := &policiesView{Count: len(names), Keys: s.Keys().Len(), Policies: []policyView{}, Recorded: append([]string{}, slices.Sorted(slices.Values(s.Recent().Policies()))...)}
	counted, nodes := sum(a.Counts(), s.MetricsSnapshot().Cluster)
	v.Nodes = nodes
	var all []engine.Op
	for _, name := range names[:min(len(names), policiesShown)] {
		p, found := s.Keys().PolicyOf(name, nil)
		if !found {
			continue
		}
		view := policyView{Name: name, Shadow: p.Shadow, Strict: p.Strict, Overrides: p.Overridden, Granted: p.Granted, Denied: p.Denied, ShadowDenied: p.ShadowDenied}
		at := slices.IndexFunc(counted.Policies, func(c clusterstatus.PolicyCount) bool { return c.Name == name })
		if view.Here = at < 0; !view.Here {
			c := &counted.Policies[at]
			view.Granted, view.Denied, view.ShadowDenied = c.Granted, c.Denied, c.ShadowDenied
		}
		for _, part := range p.Parts {
			all = append(all, part)
			key := callers.TemplateOf(part.Key)
			view.Limits = append(view.Limits, limitView{Spec: limiter.SpecText(part), Shared: key.IsShared()})
		}
		v.Policies = append(v.Policies, view)
	}
	found, looked := callers.Find(s, all, fillScan, fillCallers)
	v.Looked = looked
	at := 0
	for i := range v.Policies {
		for j := range v.Policies[i].Limits {
			results, err := callers.Peek(ctx, s, all, at, found[at], 0)
			if err != nil {
				return nil, err
			}
			a.level(s, &v.Policies[i].Limits[j], all[at].Limit, found[at], results)
			at++
		}
	}
	a.fills.at, a.fills.last = time.Now(), v
	return v, nil
}

// level adds up how much callers have taken of a limit.
func (a *Admin) level(s *server.Server, v *limitView, limit limits.Limit, found []callers.Caller, results []engine.Result) {
	sum := 0.0
	for i := range results {
		res := &results[i]
		if res.Status != engine.OK {
			continue
		}
		taken := min(1, max(0, 1-float64(res.Remaining)/float64(max(limit.Capacity, 1))))
		if v.Callers++; res.Remaining <= 0 {
			v.Full++
		}
		v.Bins[min(9, int(taken*10))]++
		if sum += taken; taken > v.Most || v.MostKey == "" {
			v.Most, v.MostKey = taken, shown(s, found[i].Key)
		}
	}
	if v.Callers > 0 {
		v.Mean = sum / float64(v.Callers)
	}
}

// shown returns a key in the form in which --top-keys permits to show it.
func shown(s *server.Server, key []byte) string {
	if s.Config().TopKeys == "plain" {
		return string(key)
	}
	return s.HashKey(key)
}
