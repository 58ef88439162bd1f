package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/events"
)

// texts returns the texts of events, oldest first.
func texts(all []clusterstatus.Event) (texts []string) {
	for _, e := range all {
		texts = append([]string{e.Text}, texts...)
	}
	return texts
}

// What changes from one look to the next is an event: leaders, nodes, problems.
func TestWatch(t *testing.T) {
	member := func(id string, reachable bool) clusterstatus.Member {
		return clusterstatus.Member{ID: id, Voter: true, Reachable: reachable}
	}
	all := func(lost string) (members []clusterstatus.Member) {
		for _, id := range []string{"a", "b", "c"} {
			members = append(members, member(id, id != lost))
		}
		return members
	}
	full := []problem{{Text: "State is not kept on disk: no space left", kind: "persistence", Since: 5000}, {Text: "Node c cannot be reached: one more", kind: lostNodesKind}}
	starting := []problem{{Text: "Requests are not answered: starting", kind: notReadyKind}}
	var w watch
	var log events.Log
	seen := 0
	for i, step := range []struct {
		problems []problem
		cluster  *clusterstatus.Status
		want     string
	}{
		{starting, &clusterstatus.Status{}, ""},
		{starting, &clusterstatus.Status{}, ""},
		{nil, &clusterstatus.Status{LeaderID: "a", Members: all("c")}, "Node a leads the cluster"},
		{nil, &clusterstatus.Status{LeaderID: "a", Members: all("")}, "Node c is back"},
		{nil, &clusterstatus.Status{LeaderID: "a", Members: all("")}, ""},
		{full, &clusterstatus.Status{LeaderID: "", Members: all("c")}, "State is not kept on disk: no space left; Node a no longer leads the cluster: there is no leader; Node c cannot be reached"},
		{full, &clusterstatus.Status{LeaderID: "b", Members: all("c")}, "Node b leads the cluster"},
		{full, &clusterstatus.Status{LeaderID: "a", Members: all("c")}, "Node a leads the cluster instead of b"},
		{nil, &clusterstatus.Status{LeaderID: "a", Members: append(all("c"), member("d", true))}, "Resolved after 3s: State is not kept on disk: no space left; Node d was added"},
		{nil, &clusterstatus.Status{LeaderID: "a", Members: all("c")}, "Node d was removed"},
		{nil, &clusterstatus.Status{LeaderID: "a", Members: all("c"), Groups: []clusterstatus.Group{{Number: 1, LeaderID: "b"}}}, "Node b leads the keys of group 1"},
		{starting, nil, "Requests are not answered: starting"}, // but not again
	} {
		w.look(int64(i)*int64(time.Second), step.problems, step.cluster, &log)
		list := texts(log.List())
		if got := strings.Join(list[seen:], "; "); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		seen = len(list)
	}
}

// An event names the user who changed limits, and the user's address, which is the browser's if the page did it. A
// command that changes nothing makes no event.
func TestEventsOfChanges(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	look := func() (o overview) {
		t.Helper()
		if _, body := h.get("/api/overview"); json.Unmarshal([]byte(body), &o) != nil {
			t.Fatal(body)
		}
		return o
	}
	last := func(text string, more int, from string) {
		t.Helper()
		if e := look().Events[0]; e.Text != text || e.More != more || e.User != "default" || !strings.HasPrefix(e.From, from) || e.At <= 0 {
			t.Errorf("%+v, want %s", e, text)
		}
	}
	if all := look().Events; len(all) != 1 || all[0].Kind != events.Start {
		t.Errorf("%+v", all)
	}
	h.do(c, "RL.POLICY SET api TB user:{} 1 1/h")
	last("Policy api was set", 0, c.LocalAddr().String())
	h.do(c, "RL.POLICY OVERRIDE api a TB user:{} 2 1/h")
	last("The limits of caller a in policy api were overridden", 1, c.LocalAddr().String())
	h.do(c, "RL.POLICY OVERRIDE api a NONE", "RL.POLICY OVERRIDE other a NONE", "RL.POLICY SET api nonsense", "RL.POLICY DEL other")
	last("The override of caller a in policy api was removed", 2, c.LocalAddr().String())
	h.send(http.MethodPost, "/api/policy", `{"name":"api","limits":"TB user:{} 1 1/h","shadow":true}`)
	last("Policy api was set in shadow mode", 3, "admin/127.0.0.1:")
	h.send(http.MethodPost, "/api/key/reset", `{"key":"user:a"}`) // refused: there is none yet
	last("Policy api was set in shadow mode", 3, "admin/127.0.0.1:")
	h.do(c, "TB.ACQUIRE user:a 1 1/h")
	h.send(http.MethodPost, "/api/key/reset", `{"key":"user:a"}`)
	last("Key user:a was reset", 0, "admin/127.0.0.1:")
	h.do(c, "MULTI", "RL.POLICY DEL api", "EXEC")
	last("Policy api was deleted", 0, c.LocalAddr().String())
}

// If keys are hashed, events name no key and no caller.
func TestEventsHideKeys(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { set(t, cfg, "top-keys", "hashed") })
	h.serve()
	h.do(h.dial(), "RL.POLICY SET api TB user:{} 1 1/h", "RL.POLICY OVERRIDE api alice TB user:{} 2 1/h", "TB.ACQUIRE user:alice 2 1/h")
	h.send(http.MethodPost, "/api/key/reset", `{"key":"user:alice"}`)
	if all := fmt.Sprint(h.server.Events().List()); strings.Contains(all, "alice") || !strings.Contains(all, "The limits of a caller in policy api were overridden") || !strings.Contains(all, "Key hash:") {
		t.Error(all)
	}
}

// A node tells others what its users did, within limits, and the page sorts the events of all nodes.
func TestEventsOfAllNodes(t *testing.T) {
	long := strings.Repeat("x", 300)
	var many []clusterstatus.Event
	for i := range 40 {
		many = append(many, clusterstatus.Event{Text: long[:i], User: "u"}, clusterstatus.Event{Text: "a leads"})
	}
	if own := eventsToSend(many); len(own) != eventsSent || slices.Contains(texts(own), "a leads") {
		t.Errorf("%+v", own)
	}
	if own := eventsToSend([]clusterstatus.Event{{Text: strings.Repeat(long, 5), User: "u"}, {Text: strings.Repeat(long, 5), User: "u"}}); len(own) != 1 {
		t.Errorf("%d events", len(own))
	}
	report := &clusterstatus.Report{Counts: &clusterstatus.Counts{Events: []clusterstatus.Event{{At: 5, Text: "five"}, {At: 1, Text: "one"}}}}
	c := &clusterstatus.Status{NodeID: "a", Members: []clusterstatus.Member{{ID: "a", Report: report}, {ID: "b", Report: report}, {ID: "c"}}}
	got := eventsView([]clusterstatus.Event{{At: 6, Text: "six"}, {At: 3, Text: "three"}}, c)
	if strings.Join(texts(got), " ") != "one three five six" || got[1].Node != "b" || got[0].Node != "" {
		t.Errorf("%+v", got)
	}
}
