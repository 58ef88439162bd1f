package testspec

import (
	"fmt"
	"math"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// Tracer follows the loans and purses of one store by the rules of [Record] and [Purse], and compares them with the
// store's answers. Trace takes them, as the Trace of a store's configuration.
type Tracer struct {
	Ledger *Ledger // of all stores; nil if the other sides of loans are not traced
	Holder string  // under which the purses of this store have their loans; only with a Ledger
	Import bool    // the cluster begins with a copy of another state

	mu        sync.Mutex
	loans     map[loanName]*lasting
	purses    map[string]*Purse[int64]
	latest    int64 // of the times of all operations
	isPartial bool  // the state was replaced: loans and purses that are not known are taken as they are
	events    int
	err       error
}

// loanName names a loan in a store.
type loanName struct{ key, holder string }

// lasting is a loan with an end. A shard decides at the latest time that it was given, which may be later than the
// operation's, so the end is known only within bounds.
type lasting struct {
	Record[int64]
	first, last int64 // [math.MaxInt64] for never
}

// Ledger has what was lent by each operation, whatever store it was. In a bubble of synctest, a purse can end and begin
// again at one instant: then two operations have the same number.
type Ledger struct{ lent sync.Map } // the keys are of type lending

// lending names an operation, and the tokens that it lent.
type lending struct {
	loanName
	number, tokens int64
}

// Err returns the first answer that the rules do not permit, and how many answers were compared.
func (t *Tracer) Err() (events int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events, t.err
}

// Trace follows operations that a store has carried out. Without any, the state was replaced.
func (t *Tracer) Trace(now int64, ops []engine.Op, results []engine.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isPartial = t.isPartial || ops == nil; ops == nil || t.loans == nil {
		t.loans, t.purses, t.latest = map[loanName]*lasting{}, map[string]*Purse[int64]{}, 0
	}
	t.latest = max(t.latest, now)
	t.await(ops, results)
	for i := range ops {
		op, res, err := &ops[i], &results[i], error(nil)
		switch isForced := op.Options&engine.Force != 0; {
		case res.Status != engine.OK:
			continue
		case op.Verb == engine.Lend, op.Verb == engine.Return, op.Verb == engine.Void && isForced:
			err = t.lend(now, op, res)
		case op.Verb == engine.Prepare && len(res.Reply) == purse.Bytes:
			err = t.prepare(op, res)
		case op.Verb == engine.Deposit && len(res.Reply) == purse.Bytes:
			err = t.deposit(op, res)
		default:
			continue
		}
		if t.events++; err != nil && t.err == nil {
			t.err = err
		}
	}
}

// Await follows operations of the store's cluster that are carried out elsewhere: from the memory of a leader.
func (t *Tracer) Await(_ int64, ops []engine.Op, results []engine.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.await(ops, results)
}

// await looks for grants before the copy is in.
func (t *Tracer) await(ops []engine.Op, results []engine.Result) {
	if mayGrant(t.isPartial, t.Import) {
		return
	}
	for i := range ops {
		if res := &results[i]; t.err == nil && res.Status == engine.OK && (res.Allowed || res.Granted > 0) {
			t.err = fmt.Errorf("operation %d on %q grants %d tokens before the import is in", ops[i].Verb, ops[i].Key, res.Granted)
		}
	}
}

// lend compares the answer to an operation on a loan. How many tokens are lent is the limiter's choice.
func (t *Tracer) lend(now int64, op *engine.Op, res *engine.Result) error {
	ask, answer := Ask[int64]{Verb: Void}, Answer[int64]{Named: int64(res.Number), Lent: res.Granted, Held: res.Lent}
	if loan := op.Loan; op.Verb != engine.Void {
		ask = Ask[int64]{Return, int64(loan.Number), int64(loan.Previous), loan.Left, int64(op.Keep), op.MaxWait != 0}
		answer.To = ask.Number
	}
	if op.Verb == engine.Lend {
		answer.Lent = min(res.Granted, max(0, res.Lent-ask.Left)) // the rest was granted to requests that wait
		ask.Verb, ask.Keep, ask.Renews = Lend, 0, ask.Renews || res.Granted > answer.Lent
	}
	name := loanName{string(op.Key), string(op.Who)}
	loan, isKnown := t.loans[name]
	if !isKnown {
		loan = &lasting{}
		if t.loans[name] = loan; t.isPartial {
			*loan = lasting{Record[int64]{answer.Held, answer.Named}, 0, math.MaxInt64}
			if ask.Verb == Lend && answer.Named == ask.Number {
				t.note(name, ask.Number, answer.Lent)
			}
			return nil
		}
	}
	if loan.last <= now {
		*loan = lasting{}
	}
	before := *loan
	carry := func(from lasting) (after lasting, want Answer[int64], carried bool) {
		want, _, carried = from.Carry(ask, answer.Lent, "")
		if carried && ask.Verb == Lend {
			if from.first, from.last = math.MaxInt64, math.MaxInt64; op.MaxWait != 0 {
				from.first, from.last = now+op.MaxWait, t.latest+op.MaxWait
			}
		}
		return from, want, carried
	}
	after, want, carried := carry(before)
	if before.first <= t.latest { // it may have ended by the time of its shard
		switch ended, wantEnded, carriedEnded := carry(lasting{}); {
		case answer != wantEnded:
		case answer != want:
			after, want, carried = ended, wantEnded, carriedEnded
		default: // the answer does not show whether it has
			after.first, after.last = min(after.first, ended.first), max(after.last, ended.last)
			carried = carried || carriedEnded
		}
	}
	if *loan = after; carried && ask.Verb == Lend {
		t.note(name, ask.Number, answer.Lent)
	}
	if answer != want {
		return fmt.Errorf("%s asks %+v of the loan %+v: the answer is %+v, and the rules say %+v", op.Who, ask, before.Record, answer, want)
	}
	return nil
}

// known returns what is known of a purse, and what it is now. Nothing is known at the first operation after the state was
// replaced.
func (t *Tracer) known(op *engine.Op, res *engine.Result) (known, now *Purse[int64], isKnown bool) {
	p := purse.Of(res)
	now = &Purse[int64]{Tokens: p.Tokens, Previous: int64(p.Previous), Number: int64(p.Number), Left: p.Left, Prepared: p.Prepared, Returning: p.Returning}
	if p.Returning {
		now.Back = p.Left
	}
	if known, isKnown = t.purses[string(op.Key)]; !isKnown && !t.isPartial {
		known, isKnown = &Purse[int64]{}, true
	}
	t.purses[string(op.Key)] = now
	return known, now, isKnown
}

// follows compares a purse with what the rules say. Requests may have spent tokens since.
func follows(op *engine.Op, want Purse[int64], now *Purse[int64]) error {
	before := want
	if want.Tokens = now.Tokens; before.Tokens >= now.Tokens && want == *now {
		return nil
	}
	return fmt.Errorf("the purse %s is %+v, and the rules say %+v, without what was spent", op.Key, *now, before)
}

// prepare compares a purse after a Prepare.
func (t *Tracer) prepare(op *engine.Op, res *engine.Result) error {
	known, now, isKnown := t.known(op, res)
	if !isKnown || op.Options&engine.Force != 0 { // the tokens are dropped
		return nil
	}
	want := *known
	if !want.Prepared && now.Prepared {
		if now.Number <= known.Number {
			return fmt.Errorf("the purse %s prepares operation %d after %d", op.Key, now.Number, known.Number)
		}
		want.Tokens = min(want.Tokens, now.Left)
		want.Prepare(now.Number, op.Options&engine.Cancel != 0, 0, "")
		if known.Tokens < now.Left {
			return fmt.Errorf("the purse %s states %d as left, and had %d", op.Key, now.Left, known.Tokens)
		}
	}
	return follows(op, want, now)
}

// deposit compares a purse after a Deposit, and the tokens that came in with what was lent.
func (t *Tracer) deposit(op *engine.Op, res *engine.Result) error {
	known, now, isKnown := t.known(op, res)
	if !isKnown {
		return nil
	}
	number, want := int64(op.Loan.Number), *known
	if want.Expects(Answer[int64]{To: number}) {
		if want.Hear(Answer[int64]{To: number, Named: int64(op.Loan.Previous), Held: want.Left + op.Tokens}); want.Previous == 0 && want.Tokens == 0 {
			t.purses[string(op.Key)] = &Purse[int64]{} // it has ended
		}
		if t.Ledger != nil && op.Tokens > 0 && !t.wasLent(op, number) {
			return fmt.Errorf("the purse %s takes %d tokens of operation %d, which was not lent so many", op.Key, op.Tokens, number)
		}
	} else if res.Granted > 0 {
		return fmt.Errorf("the purse %s takes %d tokens of operation %d, which it does not expect", op.Key, res.Granted, number)
	}
	if now.Number == 0 && now.Tokens == 0 { // there is no purse
		return nil
	}
	return follows(op, want, now)
}

// note notes the tokens that an operation was lent.
func (t *Tracer) note(name loanName, number, tokens int64) {
	if t.Ledger != nil {
		t.Ledger.lent.Store(lending{name, number, tokens}, true)
	}
}

// wasLent reports whether an operation was lent the tokens of a Deposit.
func (t *Tracer) wasLent(op *engine.Op, number int64) bool {
	_, was := t.Ledger.lent.Load(lending{loanName{string(op.Key), t.Holder}, number, op.Tokens})
	return was
}
