package admin

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
)

const (
	// countedBytes limits the names and limits that a node sends to others. In JSON they may become six times as long,
	// and a reply between nodes has at most 64 KiB.
	countedBytes = 6 << 10
	policyBytes  = countedBytes * 3 / 8
	biteBytes    = countedBytes * 3 / 8
	eventBytes   = countedBytes / 4
	eventsSent   = 10

	countsFor  = time.Second
	watchedFor = 10 * time.Second // the page asks every second
)

// counts keeps the last result for a moment, because several nodes may ask.
type counts struct {
	mu   sync.Mutex
	at   time.Time
	last *clusterstatus.Counts
}

// Watched reports whether somebody is looking at this node's page.
func (a *Admin) Watched() bool {
	return a != nil && time.Since(time.Unix(0, a.watched.Load())) < watchedFor
}

// Counts returns the numbers that the pages of other nodes add to their own. It is nil until there is a server.
func (a *Admin) Counts() *clusterstatus.Counts {
	if a == nil || a.about.Load() == nil {
		return nil
	}
	s := a.about.Load()
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	if a.counts.last == nil || time.Since(a.counts.at) >= countsFor {
		limits, denials := a.bites.look(s)
		a.counts.at, a.counts.last = time.Now(), bounded(policyCounts(s), limits)
		a.counts.last.Denials = denials
		a.counts.last.Events = eventsToSend(s.Events().List())
	}
	return a.counts.last
}

// policyCounts returns the counts of the first policies by name.
func policyCounts(s *server.Server) (all []clusterstatus.PolicyCount) {
	names := s.Keys().PolicyNames()
	for _, name := range names[:min(len(names), policiesShown)] {
		if p, found := s.Keys().PolicyOf(name, nil); found {
			all = append(all, clusterstatus.PolicyCount{Name: name, Granted: p.Granted, Denied: p.Denied, ShadowDenied: p.ShadowDenied})
		}
	}
	return all
}

// bounded leaves out names and limits that do not fit.
func bounded(policies []clusterstatus.PolicyCount, bites []clusterstatus.Bite) *clusterstatus.Counts {
	left := policyBytes
	fits := func(text string) bool {
		left -= len(text)
		return left >= 0
	}
	c := &clusterstatus.Counts{}
	for _, p := range policies {
		if fits(p.Name) {
			c.Policies = append(c.Policies, p)
		}
	}
	left = biteBytes
	for _, b := range bites {
		if fits(b.Limit) {
			c.Bites = append(c.Bites, b)
		}
	}
	return c
}

// nodesView says whose counts are added up.
type nodesView struct {
	All     int      `json:"all"`     // members of the cluster, 1 for a standalone server
	Without []string `json:"without"` // members that have not reported their counts
}

// sum adds the counts of other members to this node's.
func sum(own *clusterstatus.Counts, c *clusterstatus.Status) (all clusterstatus.Counts, nodes nodesView) {
	nodes = nodesView{All: 1, Without: []string{}}
	told := []*clusterstatus.Counts{own}
	if c != nil {
		nodes.All = len(c.Members)
		for _, m := range c.Members {
			switch {
			case m.ID == c.NodeID:
			case m.Report == nil || m.Report.Counts == nil:
				nodes.Without = append(nodes.Without, m.ID)
			default:
				told = append(told, m.Report.Counts)
			}
		}
	}
	policies, bites := map[string]clusterstatus.PolicyCount{}, map[string]clusterstatus.Bite{}
	for _, t := range told {
		all.Denials += t.Denials
		for _, p := range t.Policies {
			before := policies[p.Name]
			policies[p.Name] = clusterstatus.PolicyCount{Name: p.Name, Granted: before.Granted + p.Granted, Denied: before.Denied + p.Denied, ShadowDenied: before.ShadowDenied + p.ShadowDenied}
		}
		for _, b := range t.Bites { // a key may be denied at several nodes
			bites[b.Limit] = together(bites[b.Limit], b)
		}
	}
	for _, p := range own.Policies {
		all.Policies = append(all.Policies, policies[p.Name])
	}
	for _, b := range bites {
		all.Bites = append(all.Bites, b)
	}
	slices.SortFunc(all.Bites, byDenials)
	all.Bites = all.Bites[:min(len(all.Bites), bitesShown)]
	return all, nodes
}

// together adds up the denials of a limit at two nodes. a is empty if the first node does not have it.
func together(a, b clusterstatus.Bite) clusterstatus.Bite {
	sum := clusterstatus.Bite{Limit: b.Limit, Denied: a.Denied + b.Denied, Keys: max(a.Keys, b.Keys),
		Since: b.Since, Last: max(a.Last, b.Last), PerSecond: a.PerSecond + b.PerSecond, Recent: slices.Clone(b.Recent)}
	if a.Since > 0 && (a.Since < b.Since || b.Since == 0) {
		sum.Since = a.Since
	}
	for i := range min(len(a.Recent), len(b.Recent)) {
		sum.Recent[i] += a.Recent[i]
	}
	if len(b.Recent) == 0 {
		sum.Recent = a.Recent
	}
	return sum
}

func byDenials(a, b clusterstatus.Bite) int {
	return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(a.Limit, b.Limit))
}
