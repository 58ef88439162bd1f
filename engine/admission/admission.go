package admission

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
)

// Rules decide the treatment of new keys that the store has no room for.
type Rules struct {
	NewKeys    engine.NewKeys // not AdmitNew
	Delimiters string         // a key's prefix ends with the first of these bytes in it; without any it has the empty prefix
}

// restriction is the treatment of new keys that begin with a text.
type restriction struct {
	beginning string
	Rules
}

// MaxRestrictions bounds the restrictions at a time.
const MaxRestrictions = 1024

// Admission decides which new keys are not kept. Restrictions are replicated state: operations ([engine.Restrict])
// change them, so that every replica that applies the same operations decides alike. Only a store without replicas also
// uses its memory and its count of keys.
type Admission struct {
	Replicated bool // only operations decide
	Own        atomic.Pointer[Rules]
	Quotas     atomic.Pointer[Quotas]

	mu  sync.Mutex // changes to set
	set atomic.Pointer[[]restriction]

	Shared       sharedLimiters
	decisions    [engine.OverflowNew + 1]atomic.Int64 // decisions on new keys that were not kept
	sharedDenied atomic.Int64                         // of those by OverflowNew, denials
}

// NewKeyCounts counts the decisions on new keys without room, since the store was made.
type NewKeyCounts struct {
	Denied         int64 // DenyNew
	Allowed        int64 // AllowNew
	Shared         int64 // OverflowNew
	SharedDenied   int64 // of those, denied
	Limiters, Keys int   // number of shared limiters and of restrictions
	LimiterBytes   int   // of the shared limiters' states
}

// Init begins without restrictions: new keys that there is no room for are denied.
func (r *Admission) Init(replicated bool) {
	r.Replicated = replicated
	r.SetRules(Rules{NewKeys: engine.DenyNew})
}

// Restrict carries out a Restrict.
func (r *Admission) Restrict(op *engine.Op, res *engine.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, had := r.with(op)
	if len(next) > MaxRestrictions && !had {
		res.Status = engine.TooMany
		return
	}
	if len(next) == 0 {
		r.set.Store(nil)
		return
	}
	r.set.Store(&next)
}

// TryReadOnly answers a Restrict that changes nothing, and reports false for any other.
func (r *Admission) TryReadOnly(op *engine.Op, res *engine.Result) (done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, had := r.with(op)
	if len(next) > MaxRestrictions && !had {
		res.Status = engine.TooMany
		return true
	}
	set := r.set.Load()
	return set == nil && len(next) == 0 || set != nil && slices.Equal(*set, next)
}

// with returns the restrictions after op, the longest (most specific) beginnings first.
func (r *Admission) with(op *engine.Op) (next []restriction, had bool) {
	if set := r.set.Load(); set != nil {
		next = slices.Clone(*set)
	}
	at := slices.IndexFunc(next, func(x restriction) bool { return x.beginning == string(op.Key) })
	if had = at >= 0; had {
		next = slices.Delete(next, at, at+1)
	}
	if mode := op.NewKeys; mode != engine.AdmitNew {
		next = append(next, restriction{string(op.Key), Rules{mode, string(op.Who)}})
		slices.SortFunc(next, func(a, b restriction) int {
			if len(a.beginning) != len(b.beginning) {
				return len(b.beginning) - len(a.beginning)
			}
			return bytes.Compare([]byte(a.beginning), []byte(b.beginning))
		})
	}
	return next, had
}

// RulesFor returns the rules for a new key, nil if it is kept. there means that an expired entry of the key is still in
// the table, so that it already counts. others are new keys of the same request that are kept.
func (r *Admission) RulesFor(name []byte, there bool, others [][]byte) *Rules {
	if set := r.set.Load(); set != nil {
		key := database.KeyOf(name)
		for i := range *set {
			if x := &(*set)[i]; len(key) >= len(x.beginning) && string(key[:len(x.beginning)]) == x.beginning {
				return &x.Rules
			}
		}
	}
	if q := r.Quotas.Load(); q != nil && !r.Replicated && !there && q.isFull(name, others) {
		return r.Own.Load()
	}
	return nil
}

// PrefixOf returns the part of a name that selects its key's shared limiter.
func (r *Rules) PrefixOf(name []byte) string {
	key := database.KeyOf(name)
	if at := bytes.IndexAny(key, r.Delimiters); at >= 0 && at < engine.MaxPrefix {
		return string(name[:len(name)-len(key)+at+1])
	}
	return ""
}

// Decide decides an Acquire on a new key that must not be kept. With readOnly it changes nothing, and returns false if
// it would have.
func (r *Admission) Decide(c *algorithm.Call, rules *Rules, readOnly bool) (done bool) {
	counts := c.Op.Options&engine.Peek == 0
	switch rules.NewKeys {
	case engine.AllowNew:
		c.Ask()
	case engine.OverflowNew:
		o := &r.Shared
		o.mu.Lock()
		defer o.mu.Unlock()
		p, found := o.Ref(c.Now, rules.PrefixOf(c.Op.Key), c.Limit, 0)
		if found && o.Ask(c, p) && counts {
			if readOnly {
				return false
			}
			o.Keep(c, p)
		}
		if !found {
			c.Refuse()
		}
	default:
		c.Refuse()
	}
	if counts {
		r.Count(rules.NewKeys, c.Result)
	}
	return true
}

// Count counts a decision on admission by its mode.
func (r *Admission) Count(mode engine.NewKeys, res *engine.Result) {
	if res.Status == engine.OutOfRoom {
		mode = engine.DenyNew
	}
	r.decisions[mode].Add(1)
	if mode == engine.OverflowNew && !res.Allowed {
		r.sharedDenied.Add(1)
	}
}
