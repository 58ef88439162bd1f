package engine

import (
	"encoding/binary"
	"maps"
	"slices"
)

// MaxLentKeys bounds the keys with loans. No others are lent.
const MaxLentKeys = 65536

// lendShare is the part of the available tokens that one Lend grants at most, so that a limit becomes strict as it comes near.
const lendShare = 8

// applyLoan carries out an operation on loans. With readOnly it changes nothing, and returns false if it would have.
func (s *shard) applyLoan(c *call, tag uint32, p place, readOnly bool) (done bool) {
	if c.loans == nil {
		c.loans = new(loans)
	}
	if !c.hasLoans {
		c.loans.all = c.loans.all[:0]
		c.inner = [maxLentState]byte{}
		copy(c.inner[:], c.state)
	}
	switch {
	case c.op.Verb != Lend && c.isNew:
		return true
	case c.op.Verb != Lend && !c.prev.Algorithm.CanBeLent():
		if algorithms[c.prev.Algorithm].decide == nil {
			c.wrongType(NoAlgorithm)
		}
		return true
	case c.op.Verb == Loans:
		c.result.Reply = c.loans.list(c.result.Reply[:0], c.now)
		return true
	case c.op.Verb == Lend && !c.isNew && c.prev.Algorithm != c.limit.Algorithm:
		c.wrongType(c.limit.Algorithm)
		return true
	case !c.decideLoan(s.mayLend(c, p, readOnly)):
		return true
	case readOnly:
		return false
	}
	c.hasLoans = true
	copy(c.next[:], c.inner[:])
	if !s.keepLent(c, tag, p) {
		status := NoRoomToGrow
		if c.isNew {
			status = OutOfRoom
		}
		c.result.Clear()
		c.result.Status = status
	}
	return true
}

// mayLend reports whether the key may get a loan, or a larger one. Replicas leave the bound on keys to the one that decides: they
// drop expired keys at different times.
func (s *shard) mayLend(c *call, p place, readOnly bool) bool {
	if c.isNew && s.admission.rulesFor(c.op.Key, p.found, nil) != nil {
		return false
	}
	return c.hasLoans || s.admission.replicated && !readOnly || s.mem.lentKeys.Load() < MaxLentKeys
}

// decideLoan answers a Lend, Return or Void, and leaves the new state in c.inner and c.loans. It reports whether there is one.
func (c *call) decideLoan(mayLend bool) (changed bool) {
	op, res, asked := c.op, c.result, c.limit
	held := loan{holder: op.Who}
	if one := c.loans.of(op.Who); one != nil {
		held = *one
	}
	c.limit = c.prev
	var taken int64      // by requests that wait
	var left, back int64 // of its tokens, those that the holder keeps, and those that it gives back
	switch {
	case op.Verb == Void:
		if held.tokens == 0 || op.Options&Force == 0 {
			return c.reportLoan(held)
		}
	case op.Verb == Lend && held.number == op.Loan.Number && op.Loan.Left <= held.tokens: // it is asked again
		res.Granted = held.tokens - op.Loan.Left
		return c.reportLoan(held)
	case held.number != op.Loan.Previous:
		return c.reportLoan(held)
	case op.Loan.Left > held.tokens:
		res.Status, res.Lent = NotHeld, held.tokens
		return false
	case op.Verb == Lend:
		left = op.Loan.Left
	case op.Verb == Return:
		back = op.Loan.Left
	}
	spent := held.tokens - left - back
	c.lent -= held.tokens - left
	if spent > 0 {
		algorithms[c.limit.Algorithm].charge(c.inner[:], &c.limit, c.now, spent)
	}
	after := loan{held.holder, left, held.number, held.until}
	switch op.Verb {
	case Lend:
		mayLend = mayLend && asked == c.limit
		if mayLend && op.Options&Merged != 0 {
			taken = c.grantWaiting(op, left)
		}
		if mayLend && (held.tokens > 0 || len(c.loans.all) < MaxLoans) {
			res.Granted = min(op.Tokens, c.available()/lendShare)
		}
		renews := op.MaxWait != 0 && left+res.Granted > 0
		if spent == 0 && taken == 0 && res.Granted == 0 && !renews {
			return c.reportLoan(held)
		}
		c.lent += res.Granted
		after.tokens, after.number = left+res.Granted, op.Loan.Number
		if after.until = 0; op.MaxWait != 0 {
			after.until = c.now + op.MaxWait
		}
	case Return:
		res.Granted = back
	case Void:
		res.Granted = spent
	}
	c.loans.put(after)
	c.reportLoan(after)
	res.Granted += taken
	return held.tokens != 0 || after.tokens != 0 || taken != 0
}

// grantWaiting charges the tokens of the requests that wait, as far as there are some, and leaves the wait of the first denied one. The holder has
// the tokens that are left.
func (c *call) grantWaiting(lend *Op, left int64) (tokens int64) {
	w := lend.Loan
	n := min(w.Waiting, c.available()/w.Each)
	base := &algorithms[c.limit.Algorithm]
	if tokens = n * w.Each; tokens > 0 {
		base.charge(c.inner[:], &c.limit, c.now, tokens)
	}
	if n < w.Waiting {
		if one := c.loans.of(lend.Who); one != nil {
			defer func(before loan) { *one = before }(*one)
			if one.tokens, one.until = left, 0; lend.MaxWait != 0 {
				one.until = c.now + lend.MaxWait
			}
		}
		op, state, isNew := c.op, c.state, c.isNew
		c.op, c.state, c.isNew = &Op{Limit: c.limit, Tokens: w.Each}, c.inner[:base.bytes], false
		base.decide(c)
		c.op, c.state, c.isNew = op, state, isNew
	}
	return tokens
}

// available is the whole tokens that the limiter, whose state is c.inner, could grant now.
func (c *call) available() int64 {
	c.lookInside()
	return max(0, c.result.Remaining)
}

// lookInside fills in the result from the state in c.inner.
func (c *call) lookInside() {
	base := &algorithms[c.limit.Algorithm]
	granted := c.result.Granted
	state, isNew := c.state, c.isNew
	c.state, c.isNew = c.inner[:base.bytes], false
	base.look(c)
	c.state, c.isNew, c.result.Granted = state, isNew, granted
}

// reportLoan fills in the result beyond Granted, and returns false.
func (c *call) reportLoan(of loan) (changed bool) {
	c.lookInside()
	c.result.Lent, c.result.Number = of.tokens, of.number
	if of.tokens == 0 {
		c.result.Number = 0
	}
	if of.until != 0 {
		c.result.Wait = of.until - c.now
	}
	return false
}

// reset has the limiter at its full limit. Loans stay.
func (s *shard) reset(c *call, tag uint32, p place) {
	switch {
	case algorithms[c.prev.Algorithm].home != NoAlgorithm:
		return // it would not be reset at home
	case c.lent == 0:
		s.remove(p)
		return
	}
	clear(c.next[:])
	s.keepLent(c, tag, p) // it takes no more room than before
}

// LoanOf is one holder's tokens of a key.
type LoanOf struct {
	Holder []byte
	Tokens int64
	Left   int64 // nanoseconds until they count as spent, 0 if that has no end
}

// list appends the loans to b for [Result.LoansListed].
func (l *loans) list(b []byte, now int64) []byte {
	for i := range l.all {
		one := &l.all[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.holder))), one.holder...)
		b = binary.AppendUvarint(b, uint64(one.tokens))
		b = binary.AppendUvarint(b, uint64(max(0, one.until-now)))
	}
	return b
}

// LoansListed are those that a Loans has found, in the order in which they were made.
func (res *Result) LoansListed() (all []LoanOf) {
	b := res.Reply
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		b = b[max(0, size):]
		return n
	}
	for len(b) > 0 {
		size := min(number(), uint64(len(b)))
		holder := b[:size]
		b = b[size:]
		all = append(all, LoanOf{holder, int64(number()), int64(number())})
	}
	return all
}

// addLent and dropLent count the keys with loans of the shard.
func (s *shard) addLent(key []byte) {
	if s.lent == nil {
		s.lent = map[string]struct{}{}
	}
	s.lent[string(key)] = struct{}{}
	s.mem.lentKeys.Add(1)
}

func (s *shard) dropLent(key []byte) {
	delete(s.lent, string(key))
	s.mem.lentKeys.Add(-1)
}

// LentKeys is the number of keys with loans. Those whose loans have ended count until they are dropped.
func (s *Store) LentKeys() int64 { return s.mem.lentKeys.Load() }

// lentRecord is a key with loans and nothing taken.
type lentRecord struct {
	key   []byte
	limit Limit
	state []byte
}

// lentRecords are the keys of a shard with loans, in the state that a Flush leaves.
func (s *shard) lentRecords(store *Store, now int64) (all []lentRecord) {
	var c call
	var res Result
	for _, key := range slices.Sorted(maps.Keys(s.lent)) {
		op := Op{Verb: Delete, Key: []byte(key)}
		_, tag := store.locate(op.Key)
		if s.load(&c, now, &op, &res, s.find(tag, op.Key)); c.lent > 0 {
			c.limit = c.prev
			limit, state := c.lentState(noState[:])
			all = append(all, lentRecord{op.Key, limit, slices.Clone(state)})
		}
	}
	return all
}

// putBack puts the keys with loans into an empty shard, whatever the bound on memory: they were there before.
func (s *shard) putBack(store *Store, now int64, all []lentRecord) {
	if len(all) == 0 {
		return
	}
	bytes := 0
	for i := range all {
		bytes += recordBytes(len(all[i].state), len(all[i].key))
	}
	s.index.resize(max(len(all)+len(all)/2, minEntries))
	s.arena.current, _ = s.arena.add(s.mem.block(wholePages(max(bytes, minArena))))
	for i := range all {
		r := &all[i]
		_, tag := store.locate(r.key)
		ref := s.newRecord(now, tag, r.key, &r.limit, len(r.state))
		copy(s.record(ref).rest(), r.state)
		s.note(ref)
	}
}
