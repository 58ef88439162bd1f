package admin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/metrics"
)

// problem is something that an operator should look at. The page shows all problems at the top.
type problem struct {
	Text    string `json:"text"`
	Grave   bool   `json:"grave"`   // requests are not answered, or a promise is not kept; otherwise that may happen later
	Since   int64  `json:"since"`   // when it was first seen, in milliseconds since the Unix epoch
	Runbook string `json:"runbook"` // the heading in docs/operations.md

	kind string // see check
}

// The headings of the runbook, docs/operations.md.
const (
	runbookSlow    = "clients-are-slow-or-see-errors"
	runbookMemory  = "memory-and-disk"
	runbookCluster = "the-cluster"
)

// The thresholds, which are the same as for the alerts in docker/prometheus/stint.rules.yml.
const (
	memoryAlmostFull = 0.9
	lagTooLong       = 100 * time.Millisecond
	clockTooFar      = time.Minute
	problemsEvery    = 10 // samples between two looks for problems
)

const (
	notReadyKind  = "not ready"
	lostNodesKind = "lost nodes"
)

// seen is what checks look at: metrics, and why the server is not ready.
type seen struct {
	*metrics.Snapshot
	notReady error
}

// check finds one kind of problem. text returns "" if there is no problem.
type check struct {
	kind    string
	grave   bool
	runbook string
	text    func(s seen) string
}

// checks are in the order in which the page lists problems: grave ones first.
var checks = []check{
	{notReadyKind, true, runbookCluster, func(s seen) string {
		if s.notReady == nil {
			return ""
		}
		return "Requests are not answered: " + s.notReady.Error()
	}},
	{"groups", true, runbookCluster, func(s seen) string {
		if s.Cluster == nil {
			return ""
		}
		lost := s.Cluster.Leaderless()
		if len(lost) == 0 {
			return ""
		}
		return fmt.Sprintf("Groups without a leader: %s of %d; no requests for their keys are decided", strings.Trim(strings.ReplaceAll(fmt.Sprint(lost), " ", ", "), "[]"), len(s.Cluster.Groups))
	}},
	{"persistence", true, runbookMemory, func(s seen) string {
		switch p := s.Persistence; {
		case p != nil && p.Err != nil:
			return "State is not kept on disk: " + p.Err.Error()
		case p != nil && p.LastSaveErr != nil:
			return "The last snapshot failed: " + p.LastSaveErr.Error()
		}
		return ""
	}},
	{"log", true, runbookCluster, func(s seen) string {
		switch c := s.Cluster; {
		case c != nil && c.DiskErr != nil:
			return "The last write of this node's log failed: " + c.DiskErr.Error()
		case c != nil && c.DiskStalled:
			return "A write to this node's log takes longer than --cluster-disk-timeout"
		}
		return ""
	}},
	{lostNodesKind, false, runbookCluster, func(s seen) string {
		if s.Cluster == nil {
			return ""
		}
		text := lostNodes(s.Cluster)
		if s.Cluster.Replicas > 0 && slices.ContainsFunc(s.Cluster.Members, func(m clusterstatus.Member) bool { return m.Voter && !m.Reachable }) {
			text += "; replicas do not move until every node answers or is removed by RAFT REMOVE"
		}
		return text
	}},
	{"patterns", false, runbookCluster, func(s seen) string {
		if s.Cluster == nil || s.Cluster.SharedPatterns == "" {
			return ""
		}
		return "Nodes differ in --cluster-shared (" + s.Cluster.SharedPatterns + "): nodes without a pattern answer CROSSSLOT to requests that others decide"
	}},
	{"memory", false, runbookMemory, func(s seen) string {
		if s.MaxBytes == 0 || float64(s.KeyBytes) <= memoryAlmostFull*float64(s.MaxBytes) {
			return ""
		}
		return fmt.Sprintf("Keys use %d %% of the memory that they may use", 100*s.KeyBytes/s.MaxBytes)
	}},
	{"clock", false, runbookMemory, func(s seen) string {
		if s.Ahead <= clockTooFar {
			return ""
		}
		return fmt.Sprintf("The server's time is %s ahead of this machine's clock", s.Ahead.Round(time.Second))
	}},
	{"lag", false, runbookSlow, func(s seen) string {
		if s.LoopLag <= lagTooLong {
			return ""
		}
		return fmt.Sprintf("Requests wait %s for a processor", s.LoopLag.Round(time.Millisecond))
	}},
}

// lostNodes names the members of a cluster that do not take part, and says how many more failures stop the decisions of
// at least one group.
func lostNodes(c *clusterstatus.Status) string {
	var lost, late []string
	voters, here := 0, 0
	for _, m := range c.Members {
		switch {
		case !m.Reachable:
			lost = append(lost, m.ID)
		case !m.Healthy:
			late = append(late, m.ID)
		}
		if m.Voter {
			voters++
		}
		if m.Voter && m.Reachable { // a voter that is catching up also stores entries and votes
			here++
		}
	}
	if len(lost)+len(late) == 0 {
		return ""
	}
	text := strings.Join(slices.Concat(named(lost, "cannot be reached", "cannot be reached"), named(late, "is not healthy", "are not healthy")), "; ")
	spare := here - (voters/2 + 1)
	for _, g := range c.Groups {
		spare = min(spare, g.Voters-(len(g.Replicas)/2+1))
	}
	switch {
	case spare < 0:
		return text + ": too few are left to decide"
	case spare == 0:
		return text + ": one more failure stops decisions"
	default:
		return fmt.Sprintf("%s: decisions go on until %d more fail", text, spare+1)
	}
}

// named returns a sentence about nodes, or nothing if there are none.
func named(ids []string, one, several string) []string {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		return []string{"Node " + ids[0] + " " + one}
	}
	return []string{"Nodes " + strings.Join(ids, ", ") + " " + several}
}

// problems remembers when each problem began.
type problems struct {
	mu    sync.Mutex
	since map[int]int64 // by the index in checks
}

// at returns the present problems. now is in nanoseconds since the Unix epoch.
func (p *problems) at(now int64, s seen) []problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []problem{}
	for i, c := range checks {
		text := c.text(s)
		if text == "" {
			delete(p.since, i)
			continue
		}
		if p.since == nil {
			p.since = map[int]int64{}
		}
		if p.since[i] == 0 {
			p.since[i] = now / int64(time.Millisecond)
		}
		all = append(all, problem{text, c.grave, p.since[i], c.runbook, c.kind})
	}
	return all
}

// look returns a server's present problems.
func (p *problems) look(s *server.Server, r *metrics.Snapshot) []problem {
	return p.at(s.Now(), seen{r, s.Ready()})
}
