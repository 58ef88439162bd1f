package engine

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
)

// NewKeys is what becomes of a request on a key that holds no information yet, and so would need room for a new entry.
type NewKeys uint8

// What becomes of new keys.
const (
	AdmitNew    NewKeys = iota // they are kept
	DenyNew                    // they are refused: [OutOfRoom]
	AllowNew                   // they are decided as ever, and nothing of it is kept
	OverflowNew                // those of one prefix share one limiter for each limit asked for
)

// option is how an operation says it; so that it does not look like a Peek, which changes nothing.
func (n NewKeys) option() Option { return Option(n) << 1 }

// Rules says what a store does with new keys it has no room for.
type Rules struct {
	NewKeys    NewKeys // not AdmitNew
	Delimiters string  // a key's prefix ends with the first of these bytes in it; without any it has the empty prefix
}

// restriction is what becomes of new keys that begin with a text.
type restriction struct {
	beginning string
	Rules
}

// MaxRestrictions bounds how many beginnings of keys may be restricted at a time.
const MaxRestrictions = 1024

// restrictions are which new keys are not to be kept. They are state like any other: changed by operations ([Restrict]),
// so that every replica that carries out the same operations decides alike. Only a store that decides alone also goes by
// its own memory and its own count of keys.
type restrictions struct {
	governed bool // by operations only
	own      atomic.Pointer[Rules]
	quotas   atomic.Pointer[quotas]

	mu  sync.Mutex // changes to set
	set atomic.Pointer[[]restriction]

	overflow overflow
	forced   [OverflowNew + 1]atomic.Int64 // decisions on new keys that were not kept
	denied   atomic.Int64                  // of those by OverflowNew, denials
}

// Forced counts the decisions on new keys there was no room for, since the store was made.
type Forced struct {
	Denied         int64 // DenyNew
	Allowed        int64 // AllowNew
	Shared         int64 // OverflowNew
	SharedDenied   int64 // of those, denied
	Limiters, Keys int   // shared limiters there are, and the beginnings of keys that are restricted
}

// Forced returns what was counted.
func (s *Store) Forced() Forced {
	r := &s.room
	f := Forced{Denied: r.forced[DenyNew].Load(), Allowed: r.forced[AllowNew].Load(), Shared: r.forced[OverflowNew].Load(), SharedDenied: r.denied.Load()}
	r.overflow.mu.Lock()
	f.Limiters = len(r.overflow.slots)
	r.overflow.mu.Unlock()
	if set := r.set.Load(); set != nil {
		f.Keys = len(*set)
	}
	return f
}

// SetRules changes what a store that decides alone does with new keys beyond its bound on memory, or beyond a quota.
func (s *Store) SetRules(r Rules) { s.room.own.Store(&r) }

// restrict carries out a Restrict.
func (r *restrictions) restrict(op *Op, res *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, had := r.with(op)
	if len(next) > MaxRestrictions && !had {
		res.Status = PolicyTooMany
		return
	}
	if len(next) == 0 {
		r.set.Store(nil)
		return
	}
	r.set.Store(&next)
}

// settle answers a Restrict that changes nothing, and reports false for any other.
func (r *restrictions) settle(op *Op, res *Result) (settled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, had := r.with(op)
	if len(next) > MaxRestrictions && !had {
		res.Status = PolicyTooMany
		return true
	}
	set := r.set.Load()
	return set == nil && len(next) == 0 || set != nil && slices.Equal(*set, next)
}

// with returns the restrictions there are once op is carried out: the longest beginnings first, as they say more.
func (r *restrictions) with(op *Op) (next []restriction, had bool) {
	if set := r.set.Load(); set != nil {
		next = slices.Clone(*set)
	}
	at := slices.IndexFunc(next, func(x restriction) bool { return x.beginning == string(op.Key) })
	if had = at >= 0; had {
		next = slices.Delete(next, at, at+1)
	}
	if mode := NewKeys(op.Options >> 1); mode != AdmitNew {
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

// rulesFor returns what becomes of a new key, nil if it is kept. there says that an entry of the key lies in the table
// still, though it holds no information: then it counts already.
func (r *restrictions) rulesFor(key []byte, there bool) *Rules {
	if set := r.set.Load(); set != nil {
		for i := range *set {
			if x := &(*set)[i]; len(key) >= len(x.beginning) && string(key[:len(x.beginning)]) == x.beginning {
				return &x.Rules
			}
		}
	}
	if q := r.quotas.Load(); q != nil && !r.governed && !there && q.isFull(key) {
		return r.own.Load()
	}
	return nil
}

// prefixOf is the part of a key by which overflow tells keys apart.
func (r *Rules) prefixOf(key []byte) string {
	if at := bytes.IndexAny(key, r.Delimiters); at >= 0 && at < maxPrefix {
		return string(key[:at+1])
	}
	return ""
}

// maxPrefix bounds a prefix in bytes; a longer one counts as none.
const maxPrefix = 64

// force decides an Acquire on a new key that is not to be kept. With settleOnly it changes nothing, and reports false if
// it would have.
func (r *restrictions) force(c *call, rules *Rules, settleOnly bool) (settled bool) {
	counts := c.op.Options&Peek == 0
	switch rules.NewKeys {
	case AllowNew:
		c.ask()
	case OverflowNew:
		o := &r.overflow
		o.mu.Lock()
		defer o.mu.Unlock()
		p, found := o.place(c.now, rules.prefixOf(c.op.Key), c.limit, 0)
		if found && o.ask(c, p) && counts {
			if settleOnly {
				return false
			}
			o.keep(c, p)
		}
		if !found {
			c.refuse()
		}
	default:
		c.refuse()
	}
	if counts {
		r.count(rules.NewKeys, c.result)
	}
	return true
}

// count counts a forced decision by how it was made.
func (r *restrictions) count(mode NewKeys, res *Result) {
	if res.Status == OutOfRoom {
		mode = DenyNew
	}
	r.forced[mode].Add(1)
	if mode == OverflowNew && !res.Allowed {
		r.denied.Add(1)
	}
}

// refuse answers that there is no room.
func (c *call) refuse() {
	c.result.reset()
	c.result.Status = OutOfRoom
}

// RestrictOps calls visit for the operations that would make the restrictions and shared limiters there are, for a
// snapshot.
func (s *Store) restrictOps(visit func(*Op)) {
	if set := s.room.set.Load(); set != nil {
		for _, x := range *set {
			visit(&Op{Verb: Restrict, Options: x.NewKeys.option(), Key: []byte(x.beginning), Who: []byte(x.Delimiters)})
		}
	}
	s.room.overflow.ops(visit)
}

// CheckRestrict reports whether an operation on restrictions that was read from somewhere can be applied, or [ErrState].
func (o *Op) checkRestrict() error {
	switch {
	case o.Verb == Restrict && len(o.Parts) == 0 && len(o.Key) <= MaxKeyBytes && len(o.Who) <= MaxKeyBytes && o.Options&Peek == 0 && NewKeys(o.Options>>1) <= OverflowNew:
		return nil
	case o.Verb == KeepOverflow && len(o.Parts) == 1 && len(o.Key) <= maxPrefix && o.Options&Peek == 0 && o.Options>>1 < MaxParts && o.Parts[0].Limit.isWhole():
		return nil
	}
	return ErrState
}
