package admin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// The page adds up the counts of all nodes, and names nodes that have not reported.
func TestCountsOfAllNodes(t *testing.T) {
	told := func(granted, denied int64, keys int) *clusterstatus.Report {
		return &clusterstatus.Report{Counts: &clusterstatus.Counts{
			Policies: []clusterstatus.PolicyCount{{Name: "api", Granted: granted, Denied: denied, ShadowDenied: 1}, {Name: "unknown here", Denied: 7}},
			Bites:    []clusterstatus.Bite{{Limit: "api: TB user:{} 1 1/1h", Denied: denied, Keys: keys, Since: granted, Last: 1 << 60, PerSecond: 1000, Recent: make([]int64, denialSpans)}}, Denials: denied + 100}}
	}
	n := &nodes{}
	n.status.Store(&clusterstatus.Status{Healthy: true, LeaderID: "a", NodeID: "a", Members: []clusterstatus.Member{
		{ID: "a", Reachable: true, Report: &clusterstatus.Report{}}, {ID: "b", Reachable: true, Report: told(10, 20, 3)},
		{ID: "c", Reachable: true, Report: &clusterstatus.Report{}}, {ID: "d"}, {ID: "e", Reachable: true, Report: told(100, 200, 2)}}})
	h := newHost(t, func(_ *config.Config, o *server.Options) { o.Cluster = n })
	h.serve()
	if h.Watched() {
		t.Error("nobody has looked yet")
	}
	h.do(h.dial(), "RL.POLICY SET api TB user:{} 1 1/h", "RL.CHECK api 1", "RL.CHECK api 1", "RL.CHECK api 1")
	_, body := h.get("/api/policies")
	for _, want := range []string{`"granted":111,"denied":222,"shadowDenied":2,`, `"here":false`, `"nodes":{"all":5,"without":["c","d"]}`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	var o overview
	_, body = h.get("/api/overview")
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		t.Fatal(err)
	}
	got := o.Bites.Limits[0]
	if got.Since != 10 || got.Last != 1<<60 || got.PerSecond < 2000 || got.Recent[denialSpans-1] != 2 {
		t.Errorf("the limit's history is not that of all nodes: %+v", got)
	}
	o.Bites.Limits[0] = clusterstatus.Bite{Limit: got.Limit, Denied: got.Denied, Keys: got.Keys}
	want := bitesView{[]clusterstatus.Bite{{Limit: "api: TB user:{} 1 1/1h", Denied: 222, Keys: 3}}, 422, nodesView{5, []string{"c", "d"}}}
	if !reflect.DeepEqual(o.Bites, want) {
		t.Errorf("%+v, want %+v", o.Bites, want)
	}
	if o.Cluster.Members[1].Traffic.Counts != nil || !h.Watched() {
		t.Error("the counts of a node are sent on, or a look is not noticed")
	}
}

// What a node sends to others is limited, no matter how many policies there are and how long their names are.
func TestCountsAreBounded(t *testing.T) {
	var policies []clusterstatus.PolicyCount
	var bites []clusterstatus.Bite
	for i := range policiesShown {
		policies = append(policies, clusterstatus.PolicyCount{Name: fmt.Sprint(i, strings.Repeat("\x01", 200)), Granted: 1 << 60, Denied: 1 << 60, ShadowDenied: 1 << 60})
		bites = append(bites, clusterstatus.Bite{Limit: fmt.Sprint(i, strings.Repeat("\x01", 2000)), Denied: 1 << 60, Keys: 1 << 60, Since: 1 << 60, Last: 1 << 60, PerSecond: 1e300 / 3, Recent: slices.Repeat([]int64{1 << 60}, denialSpans)})
	}
	c := bounded(policies, bites)
	text, err := json.Marshal(c)
	if err != nil || len(text) > 56<<10 || len(c.Policies) < 10 || len(c.Bites) == 0 {
		t.Errorf("%d bytes for %d policies and %d limits, %v", len(text), len(c.Policies), len(c.Bites), err)
	}
	if few := bounded(policies[:3], nil); !slices.Equal(few.Policies, policies[:3]) {
		t.Errorf("%+v", few)
	}
	h := newHost(t, nil)
	h.serve()
	c1 := h.dial()
	for i := range policiesShown {
		name := fmt.Sprint(10+i, strings.Repeat("x", 250))
		h.do(c1, "RL.POLICY SET "+name+" TB user:{} 1000 1/h", "RL.CHECK "+name+" 1")
	}
	_, body := h.get("/api/policies")
	shared, alone := strings.Count(body, `"here":false,"granted":1,"denied":0`), strings.Count(body, `"here":true,"granted":1,"denied":0`)
	if shared == 0 || alone == 0 || shared+alone != policiesShown {
		t.Errorf("%d policies with the counts of all nodes, and %d with those of this one: %.400s", shared, alone, body)
	}
}
