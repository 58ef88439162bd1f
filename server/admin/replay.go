package admin

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/callers"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/recent"
	"github.com/stintdb/stint/server/trial"
)

const (
	replayPoints = 60 // points in the chart
	replayShards = 64
)

// replayed says how the recent requests on a policy were decided, and how other limits would have decided them. These
// begin with nothing taken.
type replayed struct {
	Of       string `json:"of"`       // the policy
	WithinMs int64  `json:"withinMs"` // how far back the requests go
	OneIn    int64  `json:"oneIn"`    // one in this many callers was recorded
	LeftOut  int64  `json:"leftOut"`  // requests without a field that the draft needs, or too long to be recorded
	Unsent   string `json:"-"`        // a field that the draft needs and no request has
	Requests int64  `json:"requests"`
	Callers  int    `json:"callers"`

	Happened replayedLimits  `json:"happened"`
	Before   *replayedLimits `json:"before"` // with the present limits of the policy; null if none of them can be replayed
	Then     *replayedLimits `json:"then"`   // with the draft
}

type replayedLimits struct {
	Denied  int64               `json:"denied"`
	Callers int                 `json:"callers"` // callers that were denied
	Points  [replayPoints]int64 `json:"points"`  // denials over time
	Without []string            `json:"without"` // limits that cannot be replayed

	denied map[string]bool // callers
}

func (l *replayedLimits) count(q *recent.Request, point int) {
	l.Denied++
	l.Points[point]++
	if l.denied == nil {
		l.denied = map[string]bool{}
	}
	l.denied[string(q.ID)] = true
	l.Callers = len(l.denied)
}

// replay decides the recorded requests on a policy by its limits and by the limits of a draft. It is nil if there are
// no requests.
func (a *Admin) replay(s *server.Server, of string, draft []engine.Op) (*replayed, error) {
	if s.Config().TopKeys == "off" {
		return nil, nil
	}
	a.replaying.Lock()
	defer a.replaying.Unlock()
	now := s.Now()
	recorded := s.Recent().Requests(of, now)
	policy, _ := s.Keys().Policy(of)
	then, err := newRun(draft, recorded.OneIn)
	if err != nil {
		return nil, err
	}
	before, err := newRun(policy.Parts, recorded.OneIn)
	if err != nil {
		return nil, err
	}
	defer then.close()
	defer before.close()
	apart := callers.Overridden(&policy)
	v := &replayed{Of: of, WithinMs: command.Millis(now - recorded.From), OneIn: recorded.OneIn, LeftOut: recorded.LeftOut}
	v.Happened.Without = []string{}
	callers, last := map[string]bool{}, int64(0)
	for i := range recorded.All {
		q := &recorded.All[i]
		if apart[string(q.ID)] {
			continue
		}
		if then.lacksField(q) {
			v.LeftOut++
			continue
		}
		v.Requests++
		callers[string(q.ID)] = true
		last = max(last, q.At) // the engine's clock never goes back
		point := min(replayPoints-1, max(0, int(replayPoints*(int64(recent.Window)-(now-q.At))/int64(recent.Window))))
		if q.Denied {
			v.Happened.count(q, point)
		}
		before.ask(q, last, point)
		then.ask(q, last, point)
	}
	if v.Requests == 0 && v.LeftOut == 0 {
		return nil, nil
	}
	v.Callers, v.Before, v.Then = len(callers), before.result(), then.result()
	v.Unsent = then.unsent(recorded.All)
	return v, nil
}

// run is the replay of some limits.
type run struct {
	trial  *trial.Trial // nil if no limit can be replayed
	names  []string     // fields that the limits need
	counts replayedLimits
}

// newRun leaves out limits that cannot be replayed: concurrency limits, because the end of a request is not recorded,
// and, if not all callers are recorded, limits that several callers share.
func newRun(ops []engine.Op, oneIn int64) (*run, error) {
	r := &run{counts: replayedLimits{Without: []string{}}}
	var kept []engine.Op
	for _, op := range ops {
		if op.Limit.Algorithm == limits.Concurrency || oneIn > 1 && (op.Limit.Algorithm == limits.Class || !bytes.Contains(op.Key, []byte(engine.Placeholder))) {
			r.counts.Without = append(r.counts.Without, limiter.SpecText(op))
			continue
		}
		kept = append(kept, op)
	}
	asked, err := trial.NewLimits(kept)
	if err != nil || len(kept) == 0 {
		return r, err
	}
	if r.names, err = asked.Names(); err != nil {
		return nil, err
	}
	r.trial = asked.Begin(replayShards)
	return r, nil
}

// unsent returns a field that a limit needs and no request has.
func (r *run) unsent(all []recent.Request) string {
	for _, name := range r.names {
		if !slices.ContainsFunc(all, func(q recent.Request) bool { return hasField(&q, name) }) {
			return name
		}
	}
	return ""
}

func hasField(q *recent.Request, name string) bool {
	for i := 0; i+1 < len(q.Fields); i += 2 {
		if string(q.Fields[i]) == name {
			return true
		}
	}
	return false
}

// lacksField reports whether a request lacks a field that a limit needs.
func (r *run) lacksField(q *recent.Request) bool {
	return slices.ContainsFunc(r.names, func(name string) bool { return !hasField(q, name) })
}

func (r *run) ask(q *recent.Request, now int64, point int) {
	if r.trial == nil || r.lacksField(q) {
		return
	}
	if allowed, _ := r.trial.Ask(now, q.Tokens, q.ID, q.Fields); !allowed {
		r.counts.count(q, point)
	}
}

func (r *run) result() *replayedLimits {
	if r.trial == nil {
		return nil
	}
	return &r.counts
}

func (r *run) close() {
	if r.trial != nil {
		r.trial.Close()
	}
}
