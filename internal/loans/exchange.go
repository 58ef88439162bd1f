package loans

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// exchange is one operation on the loan of a key. It is prepared in the purse and carried out at home, and the answer
// is deposited in the purse. If a step fails, or home has nothing to lend, the operation stays prepared in the purse,
// and the next exchange, of this process or another, goes on with it.
type exchange struct {
	key       *Key
	returning bool // all tokens go back

	limit   limits.Limit
	holder  []byte
	purse   purse.Purse // with the prepared operation
	want    int64       // tokens to borrow
	waiting int64       // tokens that the first request which needs a loan asks for; it waits, or was denied
	renews  *Denial     // the last one, if home is asked again
	asked   time.Time   // when home was asked
	left    int64       // tokens that home had left then
	brought int64       // tokens that came into the purse
}

// run carries out all steps.
func (x *exchange) run() Outcome {
	if refusal := x.prepare(); refusal.Status != engine.OK {
		return Outcome{Refusal: refusal}
	}
	x.asked = time.Now()
	answers := x.atHome(x.ask()...)
	answer := &answers[0]
	x.left = answer.Remaining
	if answer.Status != engine.OK || x.returning || !x.purse.IsPending(answer.Granted, answer.Number) {
		if refusal := x.deposit(answer); refusal.Status != engine.OK {
			return Outcome{Refusal: refusal}
		}
	}
	c := &x.key.keeper.counts
	c.operations.Add(1)
	c.lent.Add(x.brought)
	return x.learn(answers)
}

// atHome carries out operations on the key at home.
func (x *exchange) atHome(ops ...engine.Op) []engine.Result {
	o := &x.key.keeper.opt
	return o.HomeTurns(ops[0].Key).take(o.Timeout, ops, o.Home)
}

// inPurse carries out an operation on the purse.
func (x *exchange) inPurse(op engine.Op) engine.Result {
	o, at := &x.key.keeper.opt, x.key.at
	do := func(ops ...engine.Op) []engine.Result { return o.Purses(at, ops...) }
	return o.PurseTurns(at).take(o.Timeout, []engine.Op{op}, do)[0]
}

// prepare prepares the operation in the purse, unless one is prepared there, and decides how many tokens to ask for.
func (x *exchange) prepare() (refusal engine.Result) {
	k, o := x.key, &x.key.keeper.opt
	k.mu.Lock()
	x.limit = k.limit
	k.mu.Unlock()
	x.holder = []byte(o.Holder(k.at))
	kept, ok := o.InPurse(x.limit)
	switch {
	case !ok:
		return engine.Result{Status: engine.NotShared}
	case len(x.holder) == 0:
		return engine.Result{Status: engine.NoHome}
	}
	op := engine.Op{Verb: engine.Prepare, Key: []byte(k.name), Limit: kept}
	if x.returning {
		op.Options = engine.Cancel
	}
	prepared := x.inPurse(op)
	if prepared.Status != engine.OK {
		return prepared
	}
	x.purse = purse.Of(&prepared)
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.denied; d != nil && (d.Limit != k.limit || !d.isInForce(time.Now(), false)) { // requests of long ago
		d.unmet = 0
	}
	if at := slices.IndexFunc(k.waiters, Request.NeedsLoan); at >= 0 {
		x.waiting = k.waiters[at].Tokens()
	} else if k.denied != nil && k.denied.unmet > 0 {
		x.waiting = k.denied.Tokens
	} else if k.isScarce() { // home will soon deny
		x.waiting = k.tokens
	}
	if x.returning {
		return engine.Result{}
	}
	x.want = k.want(x.purse.Tokens, x.waiting > 0)
	if d := k.denied; d != nil && x.waiting > 0 {
		x.renews, d.unmet = d, 0
	}
	return engine.Result{}
}

// ask returns the operation as home takes it. If requests wait that need the loan, home is also asked when it could
// grant the first one, and to which limit it holds the key.
func (x *exchange) ask() []engine.Op {
	key, loan := []byte(x.key.name), x.purse.Loan()
	if x.purse.Returning {
		return []engine.Op{{Verb: engine.Return, Key: key, Who: x.holder, Loan: &loan}}
	}
	lend := engine.Op{Verb: engine.Lend, Key: key, Limit: x.limit, Tokens: x.want, Who: x.holder, Loan: &loan}
	lend.MaxWait = int64(x.key.keeper.opt.For)
	if x.waiting == 0 {
		return []engine.Op{lend}
	}
	lend.Options = engine.Whole
	return []engine.Op{
		lend,
		{Verb: engine.Acquire, Key: key, Limit: x.limit, Tokens: x.waiting, Options: engine.Peek},
		{Verb: engine.Look, Key: key},
	}
}

// deposit brings home's answer to the purse. If home had nothing to lend, the operation is closed first, which
// completes the answer.
func (x *exchange) deposit(answer *engine.Result) (refusal engine.Result) {
	op, ok := x.depositOf(answer)
	if !ok {
		return *answer
	}
	came := x.inPurse(op)
	if came.Status == engine.Uncertain && x.purse.Previous == 0 { // the purse may have ended: then nobody else knows of the tokens
		came = x.untilOK(func() engine.Result { return x.inPurse(op) })
	}
	switch {
	case came.Status != engine.OK:
		return came // the operation stays prepared, and home will answer it alike
	case answer.Status != engine.OK:
		return *answer
	}
	c, p := &x.key.keeper.counts, &x.purse
	switch x.brought = came.Granted; {
	case p.Returning:
		c.returned.Add(answer.Granted)
	case op.Options&engine.Force != 0:
		c.dropped.Add(p.Tokens)
	}
	if late, ok := p.LentLate(op.Key, x.holder, answer.Granted, &came); ok { // no purse has them, so no other exchange returns them
		c.returned.Add(x.untilOK(func() engine.Result { return x.atHome(late)[0] }).Granted)
	}
	return engine.Result{}
}

// untilOK repeats a step until it is carried out, for as long as a step may take, and returns the last result.
func (x *exchange) untilOK(step func() engine.Result) (res engine.Result) {
	for end := time.Now().Add(x.key.keeper.opt.Timeout); ; time.Sleep(DenyFor) {
		if res = step(); res.Status == engine.OK || !time.Now().Before(end) || x.key.keeper.ctx.Err() != nil {
			return res
		}
	}
}

// depositOf returns the operation that brings an answer to the purse. It returns false if the answer does not say
// whether home has carried the operation out.
func (x *exchange) depositOf(answer *engine.Result) (op engine.Op, ok bool) {
	key, p := []byte(x.key.name), &x.purse
	switch answer.Status {
	case engine.OK:
		if x.close(answer); answer.Status != engine.OK {
			return op, false
		}
		return p.Answered(key, answer.Granted, answer.Number), true
	case engine.NotHeld:
		return p.Answered(key, 0, 0), true
	case engine.WrongType, engine.OutOfRoom, engine.NoRoomToGrow: // nothing was carried out
		return p.Answered(key, 0, p.Previous), true
	}
	return op, false
}

// close closes the operation at home if home had nothing to lend, and completes the answer.
func (x *exchange) close(answer *engine.Result) {
	op, ok := x.purse.Close([]byte(x.key.name), x.holder)
	if !ok || !x.purse.IsOpen(answer.Granted, answer.Number) {
		return
	}
	closed := x.atHome(op)[0]
	if closed.Status == engine.OK {
		closed.Granted = x.purse.Closed(closed.Lent, closed.Number)
	}
	*answer = closed
}

// enforceEvery is the time between two attempts to put a limit into force at a home that does not say which limit is.
// Each costs a token.
const enforceEvery = time.Minute

// learn keeps what home's answers say about the next requests.
func (x *exchange) learn(answers []engine.Result) (o Outcome) {
	o.Asked, o.renewed = x.asked, x.renews
	k, p, now := x.key, &x.purse, time.Now()
	answer := &answers[0]
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(answers) > 1 && answers[1].Status == engine.OK {
		k.home.hear(x.asked, &answers[1]) // for the time: a loan need not state it
	}
	k.home.hear(x.asked, answer)
	if !p.Returning && x.want > 0 && x.brought == 0 {
		k.restUntil(now.Add(k.keeper.opt.RestFor))
	}
	begins := answer.Number != p.Number && answer.Number != p.Previous // the purse begins again
	if p.Returning || begins && len(answers) < 3 {
		return o
	}
	if answer.Granted >= x.want {
		k.isDry = false
		return o
	}
	if len(answers) < 3 || answers[1].Status != engine.OK {
		return o
	}
	look, inForce := &answers[1], &answers[2]
	// What has refilled since home lent does not count.
	hasMore := look.Allowed && min(look.Remaining, x.left) >= x.want-answer.Granted
	lendsNone := look.Allowed && answer.Granted == 0 && x.left >= x.waiting
	isOther := inForce.ShowsHeld() && inForce.Held != x.limit
	if inForce.Status == Refused { // home does not say, so this is the likely reason why it lends nothing
		isOther = lendsNone && now.Sub(k.enforced) >= enforceEvery
	}
	switch {
	case begins && (hasMore || lendsNone):
	case look.Allowed && isOther && !begins:
		// the limit of the request is not in force: a grant puts it into force, and costs one token
		k.enforced = now
		k.mu.Unlock()
		k.keeper.opt.Home(engine.Op{Verb: engine.Acquire, Key: []byte(k.name), Limit: x.limit, Tokens: 1})
		k.mu.Lock()
	case lendsNone && inForce.Status == Refused:
		o.Refusal.Status = Refused // perhaps home has too many holders
	case hasMore && answer.Number == p.Number: // another node has carried the same operation out, and asked for less
	default:
		o.IsDry, k.isDry = true, true
		o.Denial = *x.deny(now, look)
	}
	return o
}

// deny returns home's denial of the first request, and keeps it unless tokens have come back to home since. k.mu is held.
func (x *exchange) deny(now time.Time, answer *engine.Result) *Denial {
	k, wait := x.key, time.Duration(answer.Wait)
	lasts := min(k.keeper.opt.DenyFor, max(DenyFor, wait)) // no longer than home has too few
	answer.Allowed, answer.Granted, answer.Remaining = false, 0, min(answer.Remaining, x.left)
	d := &Denial{
		Limit: x.limit, Tokens: x.waiting, Answer: answer,
		Until: now.Add(lasts), Asking: now.Add(k.keeper.opt.DenyFor), Last: now.Add(lasts + k.keeper.opt.Timeout),
		Due: now.Add(wait), Never: answer.Wait == engine.NeverWait,
		asked: x.asked,
	}
	if k.gaveBack.After(x.asked) {
		return d
	}
	if k.keeper.opt.lendsLast(x.limit) {
		d.Renew = d.Until.Add(-min(2*now.Sub(x.asked), lasts/2))
	}
	if k.denied != nil {
		d.unmet = k.denied.unmet
	}
	k.denied = d
	k.restUntil(d.Until)
	return d
}
