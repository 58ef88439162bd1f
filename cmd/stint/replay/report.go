package replay

import (
	"cmp"
	"slices"
	"time"
)

// Report is the result of a replay.
type Report struct {
	Format       string    `json:"format"`
	Key          []string  `json:"key"`
	Lines        int64     `json:"lines"`
	Unread       int64     `json:"unread_lines"`
	FirstUnread  string    `json:"first_unread,omitempty"`
	Requests     int64     `json:"requests"`
	Keys         int       `json:"keys"`
	Backwards    int64     `json:"backwards"` // lines with an earlier time than a line before them
	FurthestBack int64     `json:"furthest_back_ns"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`
	Memory       int64     `json:"replay_bytes"`
	Interval     uint32    `json:"interval_seconds"`
	PerInterval  []int64   `json:"requests_per_interval"`
	Top          []KeyLine `json:"top"` // by requests
	Limits       []Outcome `json:"limits"`

	Suggestion *Suggestion `json:"suggestion,omitempty"`

	except []KeyLine // the Plan.Except keys with the most requests
}

// Outcome is the effect of one candidate.
type Outcome struct {
	Limits      string      `json:"limits"`
	Denied      int64       `json:"denied"`
	DeniedShare float64     `json:"denied_share"`
	DeniedKeys  int         `json:"denied_keys"`
	RestDenied  int64       `json:"rest_denied"` // of keys other than the Plan.Except with the most requests
	RestShare   float64     `json:"rest_denied_share"`
	ByLimit     []LimitLine `json:"by_limit"`
	Bytes       int64       `json:"server_bytes"` // that the keys would take on a server
	MostDenied  []KeyLine   `json:"most_denied"`
	Tightest    []KeyLine   `json:"tightest"` // by the share of their requests
	Runs        []RunLine   `json:"longest_runs"`
	PerInterval []int64     `json:"denied_per_interval"`
	OverTime    []KeySeries `json:"over_time"` // of the keys with the most requests, and at the end of all others
}

// LimitLine counts the denials of one limit of a policy.
type LimitLine struct {
	Limit  string `json:"limit"`
	Denied int64  `json:"denied"`
}

// KeyLine counts the requests of one key.
type KeyLine struct {
	Key      string  `json:"key"`
	Requests int64   `json:"requests"`
	Denied   int64   `json:"denied"`
	Share    float64 `json:"denied_share"`
}

// RunLine is a row of denials without a grant between them.
type RunLine struct {
	Key    string    `json:"key"`
	Denied int64     `json:"denied"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
}

// finish completes the report.
func (r *replay) finish() {
	o := r.report
	o.Keys, o.Memory = r.keys.len(), max(o.Memory, r.memory())
	o.From, o.To = time.Unix(0, r.start).In(r.clock.zone), time.Unix(0, r.now).In(r.clock.zone)
	last := uint32((r.now - r.start) / int64(time.Second))
	o.Interval = max(r.series.width, 1)
	slots := last/o.Interval + 1
	o.PerInterval = slices.Clone(r.series.counts[:slots])
	byRequests := func(n int) (int64, int64) { return int64(*r.requests.get(n)), 0 }
	o.Top = r.top(nil, r.Top, byRequests)
	o.except = r.top(nil, r.Except, byRequests)
	if r.record != nil && !r.record.full {
		var except []int
		for _, k := range o.except {
			except = append(except, r.keys.number([]byte(k.Key)))
		}
		r.record.sort(r.keys.len(), func(n int) uint64 { return *r.requests.get(n) }, except)
	}
	for i, c := range r.candidates {
		c.finish()
		c.series.fit(last)
		out := Outcome{Limits: c.limits.Text, Denied: c.denied, DeniedShare: share(c.denied, o.Requests), Bytes: c.most,
			PerInterval: slices.Clone(c.series.counts[:slots])}
		for i, spec := range c.limits.Specs() {
			out.ByLimit = append(out.ByLimit, LimitLine{spec, c.byLimit[i]})
		}
		out.DeniedKeys = c.perKey.len
		out.OverTime = r.overTime(i, last, int(slots))
		out.RestDenied, out.RestShare = r.rest(c)
		out.MostDenied = r.top(c, r.Top, func(n int) (int64, int64) { return c.deniedOf(n), 0 })
		out.Tightest = r.top(c, r.Top, func(n int) (int64, int64) {
			denied := c.deniedOf(n)
			return int64(share(denied, int64(*r.requests.get(n))) * 1e9), denied
		})
		for _, run := range c.runs[:min(len(c.runs), r.Top)] {
			at := func(seconds uint32) time.Time {
				return o.From.Add(time.Duration(seconds) * time.Second).Truncate(time.Second)
			}
			out.Runs = append(out.Runs, RunLine{string(r.keys.key(run.key)), int64(run.length), at(run.from), at(run.to)})
		}
		o.Limits = append(o.Limits, out)
	}
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// rest counts the denials of all keys but those excepted, and their share of these keys' requests.
func (r *replay) rest(c *candidate) (denied int64, of float64) {
	denied, requests := c.denied, r.report.Requests
	for _, k := range r.report.except {
		denied -= c.deniedOf(r.keys.number([]byte(k.Key)))
		requests -= k.Requests
	}
	return denied, share(denied, requests)
}

// top lists up to most keys, those with the highest values, without those whose value is 0. Of equal ones the key
// decides.
func (r *replay) top(c *candidate, most int, value func(n int) (first, second int64)) (lines []KeyLine) {
	type ranked struct {
		n             int
		first, second int64
	}
	var best []ranked
	byRank := func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.first, a.first), cmp.Compare(b.second, a.second), slices.Compare(r.keys.key(a.n), r.keys.key(b.n)))
	}
	for n := range r.keys.len() {
		first, second := value(n)
		one := ranked{n, first, second}
		if first == 0 || most == 0 || len(best) == most && byRank(one, best[most-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, one, byRank)
		best = slices.Insert(best, at, one)
		best = best[:min(len(best), most)]
	}
	for _, b := range best {
		line := KeyLine{Key: string(r.keys.key(b.n)), Requests: int64(*r.requests.get(b.n))}
		if c != nil {
			line.Denied = c.deniedOf(b.n)
			line.Share = share(line.Denied, line.Requests)
		}
		lines = append(lines, line)
	}
	return lines
}
