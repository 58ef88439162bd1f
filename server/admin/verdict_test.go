package admin

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/metrics"
)

// TestProblems has a row for each kind of problem, and its absence.
func TestProblems(t *testing.T) {
	cluster := func(members ...clusterstatus.Member) *clusterstatus.Status {
		return &clusterstatus.Status{Members: members}
	}
	member := func(id string, voter, reachable bool) clusterstatus.Member {
		return clusterstatus.Member{ID: id, Voter: voter, Reachable: reachable, Healthy: reachable}
	}
	for _, tc := range []struct {
		s    metrics.Snapshot
		err  error
		want string // the text, "!" before a grave one; "" for none
	}{
		{},
		{err: errors.New("draining"), want: "!Requests are not answered: draining"},
		{s: metrics.Snapshot{Persistence: &persistencestatus.Status{}}},
		{s: metrics.Snapshot{Persistence: &persistencestatus.Status{Err: errors.New("no space left on device")}}, want: "!State is not kept on disk: no space left on device"},
		{s: metrics.Snapshot{Persistence: &persistencestatus.Status{LastSaveErr: errors.New("no space")}}, want: "!The last snapshot failed: no space"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{DiskStalled: true}}, want: "!A write to this node's log takes longer than --cluster-disk-timeout"},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), member("b", true, true), member("c", true, true))}},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), member("b", true, true), member("c", true, false))},
			want: "Node c cannot be reached: one more failure stops decisions"},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), member("b", true, false), member("c", true, false))},
			want: "Nodes b, c cannot be reached: too few are left to decide"},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), member("b", true, true), member("c", true, true), member("d", true, true), member("e", true, false))},
			want: "Node e cannot be reached: decisions go on until 2 more fail"},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), member("b", true, true), member("c", true, true), member("d", false, false))},
			want: "Node d cannot be reached: decisions go on until 2 more fail"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{Replicas: 3, Members: []clusterstatus.Member{member("a", true, true), member("b", true, true), member("c", true, true), member("d", true, false)}}},
			want: "Node d cannot be reached: one more failure stops decisions; replicas do not move until every node answers or is removed by RAFT REMOVE"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{Replicas: 3, Members: []clusterstatus.Member{member("a", true, true), member("b", true, true), member("c", true, true), member("d", false, false)}}},
			want: "Node d cannot be reached: decisions go on until 2 more fail"},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), member("b", true, true), clusterstatus.Member{ID: "c", Voter: true, Reachable: true})},
			want: "Node c is not healthy: decisions go on until 2 more fail"},
		{s: metrics.Snapshot{Cluster: cluster(member("a", true, true), clusterstatus.Member{ID: "b", Voter: true, Reachable: true}, member("c", true, false))},
			want: "Node c cannot be reached; Node b is not healthy: one more failure stops decisions"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{Replicas: 3, Members: []clusterstatus.Member{member("a", true, true), member("b", true, true), member("c", true, true), member("d", true, true), member("e", true, false)},
			Groups: []clusterstatus.Group{{Number: 1, LeaderID: "a", Voters: 3, Replicas: []string{"a", "b", "c"}}, {Number: 2, LeaderID: "c", Voters: 2, Replicas: []string{"c", "d", "e"}}}}},
			want: "Node e cannot be reached: one more failure stops decisions; replicas do not move until every node answers or is removed by RAFT REMOVE"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{Groups: []clusterstatus.Group{{Number: 1, LeaderID: "a"}, {Number: 2}, {Number: 3}}}},
			want: "!Groups without a leader: 2, 3 of 3; no requests for their keys are decided"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{SharedPatterns: "g:* at a, b; none at c"}},
			want: "Nodes differ in --cluster-shared (g:* at a, b; none at c): nodes without a pattern answer CROSSSLOT to requests that others decide"},
		{s: metrics.Snapshot{Cluster: &clusterstatus.Status{DiskErr: errors.New("no space left on device")}}, want: "!The last write of this node's log failed: no space left on device"},
		{s: metrics.Snapshot{KeyBytes: 90, MaxBytes: 100}},
		{s: metrics.Snapshot{KeyBytes: 91}},
		{s: metrics.Snapshot{KeyBytes: 91, MaxBytes: 100}, want: "Keys use 91 % of the memory that they may use"},
		{s: metrics.Snapshot{Ahead: time.Minute}},
		{s: metrics.Snapshot{Ahead: time.Hour}, want: "The server's time is 1h0m0s ahead of this machine's clock"},
		{s: metrics.Snapshot{LoopLag: time.Second}, want: "Requests wait 1s for a processor"},
	} {
		var p problems
		var got []string
		for _, each := range p.at(5e9, seen{&tc.s, tc.err}) {
			text := each.Text
			if each.Grave {
				text = "!" + text
			}
			if got = append(got, text); each.Since != 5000 {
				t.Errorf("%s: since %d", text, each.Since)
			}
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// A problem keeps its beginning while it lasts, even if its text changes. After its end, it begins anew.
func TestProblemsBegin(t *testing.T) {
	var p problems
	for _, step := range []struct {
		at, bytes, since int64 // seconds; 0 for no problem
	}{{1, 95, 1}, {2, 97, 1}, {3, 50, 0}, {4, 91, 4}} {
		all := p.at(step.at*1e9, seen{&metrics.Snapshot{KeyBytes: step.bytes, MaxBytes: 100}, nil})
		since := int64(0)
		if len(all) > 0 {
			since = all[0].Since / 1000
		}
		if since != step.since {
			t.Errorf("at %d s: since %d, want %d", step.at, since, step.since)
		}
	}
}

// Whenever /readyz says no, the page has a grave problem with the same reason, and otherwise none. Other problems, such as
// requests that wait for a processor, may come with a busy machine.
func TestVerdictAgreesWithReadiness(t *testing.T) {
	n := &nodes{}
	h := newHost(t, func(_ *config.Config, o *server.Options) { o.Cluster = n })
	n.status.Store(&clusterstatus.Status{Healthy: true, LeaderID: "a"})
	h.serve()
	for _, st := range []*clusterstatus.Status{{}, {LeaderID: "a"}, {Healthy: true, LeaderID: "a"}} {
		n.status.Store(st)
		status, reason := h.get("/readyz")
		var o overview
		if _, body := h.get("/api/overview"); json.Unmarshal([]byte(body), &o) != nil {
			t.Fatal(body)
		}
		says := ""
		if len(o.Problems) > 0 && o.Problems[0].Grave {
			says = strings.TrimPrefix(o.Problems[0].Text, "Requests are not answered: ")
		}
		if status == 200 && says != "" || status != 200 && says != strings.TrimSpace(reason) {
			t.Errorf("%+v: /readyz says %d %q, and the page %+v", *st, status, reason, o.Problems)
		}
	}
}

// Each problem leads to a heading of the runbook.
func TestRunbookHasTheProblems(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
		anchors[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	for _, c := range checks {
		if !anchors[c.runbook] {
			t.Errorf("docs/operations.md has no heading %q", c.runbook)
		}
	}
}
