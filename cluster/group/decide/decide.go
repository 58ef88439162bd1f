// Package decide takes a batch of operations to its answers on one node of a group: from what the node has in memory
// where that is certain to be right, and otherwise through the log.
//
// This file is the whole way, to be read from top to bottom: the lists of steps, the loop that goes through them, and
// the steps in the order of the lists. The other files have what a step may wait for, and the parts of the group that a
// Decider is made of.
package decide

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/bloom"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
)

// Decider decides batches: those of this node's clients, operations on its loans, and on the leader the calls of other
// nodes.
type Decider struct {
	Config
	seed        maphash.Seed  // of the filters of keys
	underWay    call.WaitList // calls that were proposed or forwarded, or that wait for tokens
	versionless versionless

	ByAllowance atomic.Int64 // operations answered from the leader's allowance
	ReadOnly    atomic.Int64 // operations answered from the applied state, without an entry
}

// outcome says what a step did with a batch, or with one operation.
type outcome int

const (
	passed   outcome = iota // the next step sees it
	answered                // its results are filled in
	waits                   // a batch is answered later; an operation may wait for tokens, unless a later step answers it
)

// A batchStep sees a batch, or what of it has no answer yet. An opStep sees one operation.
type (
	batchStep func(*request) outcome
	opStep    func(*request, *engine.Op, *engine.Result) outcome
)

// steps are the way of a batch.
type steps struct {
	whole []batchStep // for the whole batch, until one answers it or makes it wait
	each  []opStep    // for each operation, until one answers it
	rest  []batchStep // for the operations without an answer; the last step never passes
}

// The ways of a batch.
var (
	// A leader answers its own clients from its memory while its lease lasts.
	onLeader = &steps{
		whole: []batchStep{refuseBeforeImport, awaitVersion, boundScripts, checkWatchedKeys, noteAttempts},
		each:  []opStep{fromAllowance, fromPurse, fromState, outOfTurn},
		rest:  []batchStep{confirmLease, finish, fromOwnState, waitForTokens, toLog},
	}
	// A follower has tokens of its own at most.
	onFollower = &steps{
		whole: []batchStep{refuseBeforeImport, awaitVersion},
		each:  []opStep{fromPurse},
		rest:  []batchStep{finish, fromOwnState, waitForTokens, toLeader},
	}
	// Operations that another node forwards have passed that node's purse. They do not wait for tokens of the leader's
	// purse, which are for the leader's own clients.
	forwarded = &steps{
		whole: []batchStep{refuseTooNew, refuseBeforeImport, boundScripts, checkWatchedKeys, noteAttempts},
		each:  []opStep{fromAllowance, fromPurseWithAllowance, fromState, outOfTurn},
		rest:  []batchStep{confirmLease, finish, toLog},
	}
	// Requests that have waited for tokens in vain are decided without the purse.
	afterWaiting = &steps{
		each: []opStep{fromAllowance, fromState},
		rest: []batchStep{confirmLease, finish, toLogOrLeader},
	}
)

// Decide decides a batch. It either fills in the results and returns true, or returns false at once and calls b.Done
// later, within [Config.Timeout]. It never waits. The operations' keys are only read until it returns.
func (d *Decider) Decide(b *engine.Batch) (finished bool) {
	r := d.begin(b, d.Leads())
	return r.decide()
}

func (r *request) decide() (finished bool) {
	if r.lease != nil {
		return r.follow(onLeader)
	}
	return r.follow(onFollower)
}

// DecideForwarded decides a call of another node. It waits while this node takes up or hands over leadership. It
// reports false for taken if this node does not lead: then the call is certainly not decided.
func (d *Decider) DecideForwarded(c *call.Call) (taken, finished bool) {
	lease := d.AwaitLead()
	if lease == nil {
		return false, false
	}
	r := d.begin(c.Batch, lease)
	r.call = c
	return true, r.follow(forwarded)
}

// request is a batch on its way through the steps.
type request struct {
	*Decider
	batch *engine.Batch
	call  *call.Call // of the batch: another node's from the beginning, otherwise made by the first step that needs it

	// What is read once, when the batch begins.
	at       clock.Reading   // when the batch began
	now      int64           // the cluster's time at which state is read, not before the last entry applied
	lease    Lease           // nil on a follower
	hasLease bool            // the lease holds
	term     *allowance.Term // of the leader's allowance; nil without a lease that holds, or without an allowance
	spends   bool            // the tokens held here may be spent
	retried  bool            // the batch has waited for the cluster's version

	asked      []uint32 // the positions of the operations that awaitVersion did not refuse, nil for all
	open       []uint32 // the positions of the operations without an answer, nil for all
	left       int      // how many these are
	needsLease bool     // some answers are right only if the lease still holds
	canWait    bool     // some operations are requests for keys held, which may wait for tokens

	several several // the request for several limits that is tried

	byAllowance, readOnly int64 // answers
}

// several is a request for several limits.
type several struct {
	op    *engine.Op
	parts []engine.Op
	res   *engine.Result
}

// requests keeps requests for reuse. Steps are called through function values, so the compiler would allocate a
// request for each batch.
var requests = sync.Pool{New: func() any { return new(request) }}

// begin reads the clocks and what the steps of a batch may use. lease is nil on a follower.
func (d *Decider) begin(b *engine.Batch, lease Lease) *request {
	r := requests.Get().(*request)
	now := d.Clock.Moment()
	r.Decider, r.batch, r.lease, r.left = d, b, lease, len(b.Ops)
	r.at = clock.Reading{Mono: time.Duration(now.Mono), Cluster: d.Clock.NowOrWall()}
	r.now = max(r.at.Cluster, d.Machine.Now.Load())
	r.spends = d.Purse.MaySpend(now)
	if r.hasLease = lease != nil && lease.Holds(now); r.hasLease {
		r.term = d.Allowance.Term.Load()
	}
	return r
}

// follow takes a batch through steps.
func (r *request) follow(s *steps) (finished bool) {
	finished = r.run(s) == answered
	if r.byAllowance > 0 {
		r.ByAllowance.Add(r.byAllowance)
	}
	if r.readOnly > 0 {
		r.ReadOnly.Add(r.readOnly)
	}
	*r = request{}
	requests.Put(r)
	return finished
}

func (r *request) run(s *steps) outcome {
	for _, step := range s.whole {
		if o := step(r); o != passed {
			return o
		}
	}
	r.tryEach(s)
	for _, step := range s.rest {
		if o := step(r); o != passed {
			return o
		}
	}
	panic("decide: the last step has left operations without an answer")
}

// tryEach tries to answer each operation. One that comes after an operation without an answer on the same key goes with
// it, so that operations on one key keep their order. Nothing may come between the operations of a transaction: it
// stays whole.
func (r *request) tryEach(s *steps) {
	ops := r.batch.Ops
	switch {
	case r.batch.Atomic && len(ops) > 1:
		return
	case r.lease == nil && !r.spends: // no step could answer anything
		return
	case len(ops) == 1:
		if r.answers(s, &ops[0], &r.batch.Results[0]) {
			r.left = 0
		}
		return
	}
	var touched bloom.Filter
	var open []uint32
	for n := range r.left {
		i := r.position(n)
		op := &ops[i]
		if !touched.MayContain(r.seed, op) && r.answers(s, op, &r.batch.Results[i]) {
			continue
		}
		if open == nil {
			open = make([]uint32, 0, r.left-n)
		}
		touched.Add(r.seed, op)
		open = append(open, i)
	}
	if r.left = len(open); r.left < len(ops) {
		r.open = open
	}
}

// answers tries to answer one operation.
func (r *request) answers(s *steps, op *engine.Op, res *engine.Result) bool {
	canWait := false
	for _, step := range s.each {
		switch step(r, op, res) {
		case answered:
			return true
		case waits:
			canWait = true
		}
	}
	r.canWait = r.canWait || canWait
	return false
}

// position is the position in the batch of the n-th operation without an answer.
func (r *request) position(n int) uint32 {
	if r.open == nil {
		return uint32(n)
	}
	return r.open[n]
}

// reject answers all operations without an answer with an error.
func (r *request) reject(status engine.Status) outcome {
	for n := range r.left {
		r.refuse(r.position(n), status)
	}
	r.CountFailure(status)
	return answered
}

func (r *request) refuse(i uint32, status engine.Status) {
	r.batch.Results[i].Status, r.batch.Results[i].Allowed = status, false
}

// refuseBeforeImport rejects a batch while the cluster lacks the state that it is to begin with.
func refuseBeforeImport(r *request) outcome {
	if !r.AwaitsImport() {
		return passed
	}
	return r.reject(engine.Importing)
}

// awaitVersion refuses operations that are newer than the cluster's format version; of a transaction all. While this
// node does not know the version, because it has just joined or started, the batch waits.
func awaitVersion(r *request) outcome {
	b := r.batch
	if !r.IsTooNew(b.Ops) {
		return passed
	}
	status := engine.TooNew
	if !r.knowsVersion() {
		if status = engine.NoLeader; !r.retried {
			return r.waitForVersion()
		}
	} else if useFirstDialect(b.Ops, r.IsTooNew); !r.IsTooNew(b.Ops) {
		return passed
	}
	known := make([]uint32, 0, len(b.Ops))
	for i := range b.Ops {
		if b.Atomic || r.IsTooNew(b.Ops[i:i+1]) {
			r.refuse(uint32(i), status)
		} else {
			known = append(known, uint32(i))
		}
	}
	if r.asked, r.open, r.left = known, known, len(known); r.left == 0 {
		return answered
	}
	return passed
}

// useFirstDialect makes scripts that are newer than the cluster's version run as older members run them: without the
// commands that only newer members let scripts call. A dialect that this node does not know stays.
func useFirstDialect(ops []engine.Op, isTooNew func([]engine.Op) bool) {
	for i := range ops {
		if op := &ops[i]; op.Verb == engine.Script && op.Tokens <= scriptcache.Dialect && isTooNew(ops[i:i+1]) {
			op.Tokens = 1
		}
	}
}

// refuseTooNew rejects a call with operations that are newer than the cluster's format version. Nodes forward none that
// know it.
func refuseTooNew(r *request) outcome {
	if !r.IsTooNew(r.batch.Ops) {
		return passed
	}
	return r.reject(engine.TooNew)
}

// boundScripts rejects a batch with a script while too much work of scripts is in the queue for the log.
func boundScripts(r *request) outcome {
	if !r.Refuses(r.batch.Ops) {
		return passed
	}
	return r.reject(engine.Overloaded)
}

// checkWatchedKeys answers a transaction whose watched keys have changed in the applied state: it is decided before the
// entries under way.
func checkWatchedKeys(r *request) outcome {
	b := r.batch
	if !r.hasLease || !b.Atomic || len(b.Ops) == 0 || b.Ops[0].Verb != engine.Expect {
		return passed
	}
	r.Store.TryReadOnly(r.now, &b.Ops[0], &b.Results[0])
	if b.Results[0].Status != engine.KeyChanged || !r.lease.Holds(r.Clock.Moment()) {
		return passed
	}
	for i := range b.Results {
		b.Results[i].Clear()
		b.Results[i].Status = engine.KeyChanged
	}
	r.readOnly++
	return answered
}

// noteAttempts notes the claims of clients that wait for keys.
func noteAttempts(r *request) outcome {
	for i := range r.batch.Ops {
		if op := &r.batch.Ops[i]; op.Verb == engine.Command && r.Turns.IsAttempt(op) {
			r.Turns.Attempt(r.now, op)
		}
	}
	return passed
}

// fromAllowance answers from the tokens that the leader takes in its memory.
func fromAllowance(r *request, op *engine.Op, res *engine.Result) outcome {
	if r.term == nil || !r.Allowance.Decide(r.term, r.now, op, res) {
		return passed
	}
	r.needsLease = true
	r.byAllowance++
	return answered
}

// fromPurse answers from the tokens held here. A request for one key that is held, or was a moment ago, may wait for
// more of its tokens.
func fromPurse(r *request, op *engine.Op, res *engine.Result) outcome {
	if !r.spends {
		return passed
	}
	done := false
	switch op.Verb {
	case engine.Acquire:
		return r.spend(op, res)
	case engine.AcquireAll:
		done = r.spendAll(op, op.Parts, res)
	case engine.Check: // of the policy in this node's state
		spend := func(parts []engine.Op) bool { return r.spendAll(op, parts, res) }
		done = !r.Machine.Loading.Load() && r.Store.CheckBy(op, res, spend)
	case engine.Refund:
		done = r.Purse.Refund(r.at, op, res)
	}
	if !done {
		return passed
	}
	return answered
}

// fromPurseWithAllowance is fromPurse for what another node asks, which has spent its own tokens. Only requests for
// several limits, of some of which the tokens are held here and of others in the leader's allowance, can be answered
// here alone; and refunds of such requests.
func fromPurseWithAllowance(r *request, op *engine.Op, res *engine.Result) outcome {
	if r.term == nil || !op.IsRequest() && op.Verb != engine.Refund {
		return passed
	}
	return fromPurse(r, op, res)
}

// spend answers a request for one key from the tokens held, or denies it if this node's own state does.
func (r *request) spend(op *engine.Op, res *engine.Result) outcome {
	if op.Options&^(engine.Peek|engine.UpTo|engine.Spread) != 0 || !purses.MayAnswer(op) || r.Store.IsStrict(op) {
		return passed
	}
	done, held := r.Purse.Spend(r.at, op, res)
	switch {
	case done || held && r.denies(op, res):
		return answered
	case op.IsSpread(): // the leader knows whom it has denied
		return passed
	case held:
		return waits
	}
	return passed
}

// denies denies a request that this node's own state denies. On a follower that state is older than the leader's, so
// only keys that are held, or were a moment ago, are denied from it, and only while the follower hears from the leader.
func (r *request) denies(op *engine.Op, res *engine.Result) bool {
	switch {
	case r.Machine.Loading.Load(), op.Options&engine.Peek != 0, op.IsSpread():
		return false
	case r.lease != nil && !r.hasLease, r.lease == nil && !r.HearsLeader():
		return false
	case !r.Store.TryReadOnly(r.now, op, res), res.Status != engine.OK, res.Allowed:
		return false
	}
	r.needsLease = true
	r.Purse.CountDenial()
	return true
}

// spendAll answers a request for several limits if there are enough tokens of each: held here, or on the leader in its
// allowance.
func (r *request) spendAll(op *engine.Op, parts []engine.Op, res *engine.Result) (done bool) {
	if op.Options&^(engine.Peek|engine.NamedFields) != 0 || op.MaxWait != 0 || r.Store.IsStrict(op) {
		return false
	}
	for i := range parts {
		if !purses.MayAnswer(&parts[i]) || parts[i].Options&^(engine.Peek|engine.FixedCost|engine.Spread) != 0 {
			return false
		}
	}
	res.Clear()
	res.Grow(len(parts))
	res.Allowed, res.Granted, res.Binding = true, max(1, op.Tokens), -1
	var others loans.Others
	if r.term != nil {
		r.several = several{op, parts, res}
		others = r
	}
	done = r.Purse.SpendAll(r.at, parts, op.Options&engine.Peek != 0, res, others)
	res.Allowed = res.Allowed && done // a peek is answered with a denial too
	return done
}

// TakeOthers implements [loans.Others] by the leader's allowance.
func (r *request) TakeOthers(held engine.PartSet) (missing engine.PartSet) {
	r.needsLease = true
	return r.Allowance.TakeAll(r.term, r.now, r.several.op, r.several.parts, held, r.several.res)
}

// fromState answers what changes nothing in the applied state, such as denials: entries under way can only take more
// tokens, so a denial stays right. It does not answer from keys of which the leader's memory has tokens.
func fromState(r *request, op *engine.Op, res *engine.Result) outcome {
	if !r.hasLease || r.term != nil && r.Allowance.Hides(r.term, r.now, op) || !r.Store.TryReadOnly(r.now, op, res) {
		return passed
	}
	r.needsLease = true
	r.readOnly++
	return answered
}

// outOfTurn answers an attempt of a client that waits for a key as if there were nothing to take, if it is another
// client's turn. That is no wrong answer by a node that leads no more.
func outOfTurn(r *request, op *engine.Op, res *engine.Result) outcome {
	if op.Verb != engine.Command || r.Turns.MayTake(r.now, op) {
		return passed
	}
	res.StartReply()
	res.Reply = append(res.Reply, "*-1\r\n"...)
	return answered
}

// confirmLease takes the answers back if the lease has ended since the batch began: they are right only if the lease
// shows, after the state was read, that no other node could lead.
func confirmLease(r *request) outcome {
	if r.needsLease && !r.lease.Holds(r.Clock.Moment()) {
		r.open, r.left = r.asked, len(r.asked)
		if r.asked == nil {
			r.left = len(r.batch.Ops)
		}
	}
	return passed
}

// finish ends the way of a batch whose operations all have an answer.
func finish(r *request) outcome {
	if r.left == 0 {
		return answered
	}
	return passed
}

// fromOwnState answers reads of a client that takes answers from this node's own state, whichever that is.
func fromOwnState(r *request) outcome {
	b := r.batch
	if !b.Local || r.Machine.Loading.Load() || !r.knowsVersion() {
		return passed
	}
	for n := range r.left {
		if b.Ops[r.position(n)].Writes() {
			return passed
		}
	}
	if r.open == nil {
		r.Store.Apply(r.at.Cluster, b.Ops, b.Results)
		return answered
	}
	for _, i := range r.open {
		r.Store.Apply(r.at.Cluster, b.Ops[i:i+1], b.Results[i:i+1])
	}
	return answered
}

// waitForTokens makes requests that are alike wait for tokens of their key. If they are not alike, none waits, and the
// tokens are asked for all the same.
func waitForTokens(r *request) outcome {
	if !r.canWait {
		return passed
	}
	first := &r.batch.Ops[r.position(0)]
	if !r.areAlike(first) {
		for n := range r.left {
			if op := &r.batch.Ops[r.position(n)]; purses.CanWait(op) {
				r.Purse.Ask(r.at.Mono, op)
			}
		}
		return passed
	}
	c := r.callOfOpen()
	c.Summarize()
	if !r.Purse.Wait(r.at.Mono, &purses.Waiter{Call: c, Op: *first, Requests: int64(c.Ops)}) {
		return passed
	}
	return r.track(c)
}

// areAlike reports whether all operations without an answer ask for as many tokens of the same key, and can wait for
// them.
func (r *request) areAlike(first *engine.Op) bool {
	for n := range r.left {
		op := &r.batch.Ops[r.position(n)]
		if !purses.CanWait(op) || op.Tokens != first.Tokens || op.Limit != first.Limit || !bytes.Equal(op.Key, first.Key) {
			return false
		}
	}
	return true
}

// toLog queues the operations for the next entry of the log.
func toLog(r *request) outcome {
	c := r.callOfOpen()
	c.Summarize()
	if status := r.Queue(c, r.batch, r.open); status != engine.OK {
		return r.reject(status)
	}
	return r.track(c)
}

// toLeader queues the operations for the leader.
func toLeader(r *request) outcome {
	c := r.callOfOpen()
	if status := c.Pack(); status != engine.OK {
		return r.reject(status)
	}
	if !r.Forward(c) {
		return r.reject(engine.Overloaded)
	}
	return r.track(c)
}

// toLogOrLeader is toLog on the leader, and toLeader on a follower.
func toLogOrLeader(r *request) outcome {
	if r.lease != nil {
		return toLog(r)
	}
	return toLeader(r)
}

// callOfOpen is a call of the operations without an answer.
func (r *request) callOfOpen() *call.Call {
	if r.call == nil {
		r.call = &call.Call{Batch: r.batch}
	}
	r.call.Unanswered, r.call.Began = r.open, r.at.Mono
	return r.call
}

// track has a call answered at the end of its time at the latest. On a closed node it answers the call itself.
func (d *Decider) track(c *call.Call) outcome {
	if d.underWay.Add(c) {
		return waits
	}
	told := c.FailUnpublished(engine.NoLeader)
	d.CountFailure(told)
	if told == engine.OK {
		return waits
	}
	return answered
}
