package rlqs

import (
	"sync"
	"time"
)

// The bounds of a node's streams.
const (
	MaxStreams     = 1024
	MaxBuckets     = 65536
	MaxOfLimit     = 4096     // buckets of one limit: each report looks through all of them
	MaxStreamBytes = 40 << 10 // of a report about all of a stream's buckets
	mostEnded      = 64       // quotas that end in one round
	bucketBytes    = 48       // of a report beside the id
)

// Table has the quotas of a node. It is safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	holder  string
	number  uint64
	quotas  map[string]*quota
	ended   []*quota // without shares, with loans to give back
	buckets int
	swept   time.Duration
	counts  Counts
}

// Counts count for all streams since the start, except for Buckets, which is the number now.
type Counts struct {
	Buckets                             int
	Reports, Changed, Refused, Orphaned int64
}

// NewTable returns a table that borrows under the name of a holder. The numbers of its loans begin above a number that
// no earlier process with the name has reached.
func NewTable(holder string, above uint64) *Table {
	return &Table{holder: holder, number: above, quotas: map[string]*quota{}}
}

// Holder returns the name under which the table borrows.
func (t *Table) Holder() string { return t.holder }

// Counts returns the counts so far.
func (t *Table) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Buckets = t.buckets
	return c
}

// Stream is one stream of an Envoy. Its calls must not overlap.
type Stream struct {
	table    *Table
	refused  int64
	reports  uint64 // so far
	bytesIn  int    // of the report that is being answered
	shares   map[string]*share
	hasGiven bool // it has allowed a bucket, or assigned one of another quota
	bytes    int
	touched  []*share     // by the report that is being answered
	plain    []Assignment // answers that need no share
}

// NewStream returns a stream, which ends by Cut.
func (t *Table) NewStream() *Stream { return &Stream{table: t, shares: map[string]*share{}} }

// Refused returns how many of the stream's buckets were beyond the bounds.
func (s *Stream) Refused() int64 { return s.refused }

// Usage is one bucket of a report.
type Usage struct {
	ID              string // a text for Pairs; others have another
	Pairs           map[string]string
	Kind            Kind // Bucket if Limit decides
	Key             string
	Limit           Limit
	Learned         time.Duration // when Limit was learned: the latest limit counts
	Elapsed         time.Duration // since the Envoy has first or last reported the bucket
	Allowed, Denied int64
}

// Report takes a report. The operations that it returns, and then the operations of Loans, are to be carried out at
// home, and their answers given to [Table.Answer]. Then Assign returns the assignments.
func (s *Stream) Report(now time.Duration, all []Usage) []Operation {
	t := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Reports++
	s.reports++
	t.sweep(now)
	s.touched, s.plain, s.bytesIn = s.touched[:0], s.plain[:0], 0
	for i := range all {
		s.usage(now, &all[i])
	}
	return t.demands(now, s.touched)
}

// Loans returns the operations that follow those of Report.
func (s *Stream) Loans(now time.Duration) []Operation {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return s.table.loans(now, s.touched)
}

func (s *Stream) usage(now time.Duration, u *Usage) {
	one := s.shares[u.ID]
	if one != nil && one.inReport == s.reports {
		return // it is in the report twice, which no Envoy does
	}
	if s.bytesIn += len(u.ID) + bucketBytes; s.bytesIn > MaxStreamBytes || u.Kind == Abandon { // reports stay short
		s.refuse(u, one)
		return
	}
	if u.Kind != Bucket {
		if one != nil { // the rules have changed
			s.leave(u.ID, one)
		}
		s.plain = append(s.plain, Assignment{Pairs: u.Pairs, Kind: u.Kind})
		return
	}
	if one == nil || one.quota.key != u.Key {
		if one != nil {
			s.leave(u.ID, one)
			s.hasGiven = true
		}
		if one = s.join(u); one == nil {
			s.refuse(u, nil)
			return
		}
	}
	one.quota.learn(now, u.Limit, u.Learned)
	one.measure(now, u.Elapsed, u.Allowed, u.Denied, perSecond(one.now.units))
	one.settle(now, true)
	one.inReport = s.reports
	s.touched = append(s.touched, one)
}

// refuse makes the Envoy forget a bucket beyond the bounds.
func (s *Stream) refuse(u *Usage, one *share) {
	if one != nil {
		s.leave(u.ID, one)
	}
	s.refused++
	s.table.counts.Refused++
	s.plain = append(s.plain, Assignment{Pairs: u.Pairs, Kind: Abandon})
}

// join gives the stream a share of a quota. It returns nil beyond the bounds.
func (s *Stream) join(u *Usage) *share {
	t, bytes := s.table, len(u.ID)+bucketBytes
	q := t.quotas[u.Key]
	if t.buckets >= MaxBuckets || s.bytes+bytes > MaxStreamBytes || q != nil && len(q.shares) >= MaxOfLimit {
		return nil
	}
	if q == nil {
		q = newQuota(u.Key, u.Limit)
		t.quotas[u.Key] = q
	}
	one := &share{quota: q, pairs: u.Pairs, bytes: bytes, mayKeep: !s.hasGiven}
	q.shares = append(q.shares, one)
	s.shares[u.ID] = one
	s.bytes += bytes
	t.buckets++
	return one
}

// leave ends a share. Its buckets stay lent until their time is over.
func (s *Stream) leave(id string, one *share) {
	delete(s.shares, id)
	one.isGone, one.demand = true, 0
	s.bytes -= one.bytes
	s.table.buckets--
}

// sweep forgets quotas without shares, once a second. Their spare tokens first go back to home, if there is a stream
// whose calls can carry that out.
func (t *Table) sweep(now time.Duration) {
	if now < t.swept+time.Second {
		return
	}
	t.swept, t.ended = now, t.ended[:0]
	for name, q := range t.quotas {
		q.count(now)
		switch {
		case len(q.shares) > 0:
		case q.tokens.Tokens == 0 || now >= q.tokens.renewed+LoanTTL:
			delete(t.quotas, name)
		case !q.tokens.isAway && len(t.ended) < mostEnded:
			t.ended = append(t.ended, q)
		}
	}
}

// Cut ends the stream. Its Envoy may spend its buckets until their time to live is over.
func (s *Stream) Cut() {
	t := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, one := range s.shares {
		if one.now.lives() || one.before.lives() {
			t.counts.Orphaned++
		}
		s.leave(id, one)
	}
}

// Waits reports whether some bucket should have more than it has, or has a rate to spare for which others wait.
func (s *Stream) Waits(now time.Duration) bool {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	for _, one := range s.shares {
		if one.isDue(now) {
			return true
		}
	}
	return false
}

// Waiting is Report for shares that wait, without a report.
func (s *Stream) Waiting(now time.Duration) []Operation {
	t := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	s.touched, s.plain = s.touched[:0], s.plain[:0]
	for _, one := range s.shares {
		if one.isDue(now) {
			s.touched = append(s.touched, one)
		}
	}
	return t.demands(now, s.touched)
}

// Assign returns the assignments after Report or Waiting.
func (s *Stream) Assign(now time.Duration) []Assignment {
	t := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append([]Assignment(nil), s.plain...)
	for i := range all {
		s.hasGiven = s.hasGiven || all[i].Kind == Allow
	}
	counted := map[*quota]bool{}
	for _, one := range s.touched {
		if one.isGone {
			continue
		}
		q := one.quota
		if !counted[q] { // later changes are counted as they are made
			counted[q] = true
			q.count(now)
		}
		if now-one.busy >= idleTime && q.isFull() {
			s.leave(s.idOf(one), one)
			all = append(all, Assignment{Pairs: one.pairs, Kind: Abandon})
			continue
		}
		if a, ok := q.assign(now, one); ok {
			if a.Changed {
				t.counts.Changed++
			}
			all = append(all, a)
		}
	}
	return all
}

// idOf finds the id of a share.
func (s *Stream) idOf(one *share) string {
	for id, other := range s.shares {
		if other == one {
			return id
		}
	}
	return ""
}
