package admin

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/metrics"
)

// watch makes events of what changes from one look to the next.
type watch struct {
	mu       sync.Mutex
	wasReady bool
	problems map[string]problem // by kind
	leaders  map[int]string     // by group of keys; 0 is the leader of the whole cluster
	lost     map[string]bool    // whether each member cannot be reached; nil until there are members
}

// look compares the present state with the last one and logs events. now is in nanoseconds since the Unix epoch.
func (w *watch) look(now int64, all []problem, c *clusterstatus.Status, log *events.Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add := func(kind, text string, bad bool) {
		log.Add(now, clusterstatus.Event{Kind: kind, Text: text, Bad: bad})
	}
	w.lookAtProblems(now, all, add)
	if c != nil {
		w.lookAtLeaders(c, add)
		w.lookAtNodes(c, add)
	}
}

func (w *watch) lookAtProblems(now int64, all []problem, add func(kind, text string, bad bool)) {
	here := map[string]problem{}
	w.wasReady = w.wasReady || !slices.ContainsFunc(all, func(p problem) bool { return p.kind == notReadyKind })
	for _, p := range all {
		if p.kind == lostNodesKind || p.kind == notReadyKind && !w.wasReady { // nodes and the start have events of their own
			continue
		}
		here[p.kind] = p
		if _, is := w.problems[p.kind]; !is {
			add(events.Problem, p.Text, true)
		}
	}
	for kind, p := range w.problems {
		if _, is := here[kind]; !is {
			took := time.Duration(now - p.Since*int64(time.Millisecond)).Round(time.Second)
			add(events.Problem, fmt.Sprintf("Resolved after %s: %s", took, p.Text), false)
		}
	}
	w.problems = here
}

func (w *watch) lookAtLeaders(c *clusterstatus.Status, add func(kind, text string, bad bool)) {
	if w.leaders == nil {
		w.leaders = map[int]string{}
	}
	note := func(group int, of, leader string) {
		before, known := w.leaders[group]
		if w.leaders[group] = leader; known && before == leader {
			return
		}
		switch {
		case leader == "" && known:
			add(events.Leader, "Node "+before+" no longer leads "+of+": there is no leader", true)
		case leader != "" && before == "":
			add(events.Leader, "Node "+leader+" leads "+of, false)
		case leader != "":
			add(events.Leader, "Node "+leader+" leads "+of+" instead of "+before, false)
		}
	}
	whole := "the cluster"
	if len(c.Groups) > 0 {
		whole = "the list of nodes (group 0)"
	}
	note(0, whole, c.LeaderID)
	for _, g := range c.Groups {
		note(g.Number, fmt.Sprintf("the keys of group %d", g.Number), g.LeaderID)
	}
}

func (w *watch) lookAtNodes(c *clusterstatus.Status, add func(kind, text string, bad bool)) {
	if len(c.Members) == 0 {
		return
	}
	lost, first := map[string]bool{}, w.lost == nil
	for _, m := range c.Members {
		lost[m.ID] = !m.Reachable
		before, known := w.lost[m.ID]
		switch {
		case first:
		case !known:
			add(events.Node, "Node "+m.ID+" was added", false)
		case before && m.Reachable:
			add(events.Node, "Node "+m.ID+" is back", false)
		case !before && !m.Reachable:
			add(events.Node, "Node "+m.ID+" cannot be reached", true)
		}
	}
	for id := range w.lost {
		if _, is := lost[id]; !is {
			add(events.Node, "Node "+id+" was removed", false)
		}
	}
	w.lost = lost
}

// lookAround looks for problems and events.
func (a *Admin) lookAround(s *server.Server, r *metrics.Snapshot) []problem {
	all := a.problems.look(s, r)
	a.watch.look(s.Now(), all, r.Cluster, s.Events())
	return all
}

// eventsView returns the last events of all nodes, newest first. From other nodes it only has changes by users, because
// this node sees everything else itself.
func eventsView(own []clusterstatus.Event, c *clusterstatus.Status) []clusterstatus.Event {
	all := slices.Clone(own)
	if c != nil {
		for _, m := range c.Members {
			if m.ID == c.NodeID || m.Report == nil || m.Report.Counts == nil {
				continue
			}
			for _, e := range m.Report.Counts.Events {
				e.Node = m.ID
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b clusterstatus.Event) int { return cmp.Compare(b.At, a.At) })
	return all[:min(len(all), events.Kept)]
}

// eventsToSend returns the newest changes by users, which a node sends to the others.
func eventsToSend(all []clusterstatus.Event) (own []clusterstatus.Event) {
	left := eventBytes
	for _, e := range all {
		if e.User == "" {
			continue
		}
		if left -= len(e.Text) + len(e.User) + len(e.From); left < 0 || len(own) == eventsSent {
			break
		}
		own = append(own, e)
	}
	return own
}
