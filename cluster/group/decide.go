package group

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/bloom"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/engine"
)

// decider has batches decided, here or by the leader.
type decider struct {
	opt       *Config
	clock     *clock.Clock
	fsm       *fsm.Machine
	formats   *versionGate
	role      *leaderRole
	proposer  *propose.Proposer
	forwarder *forward.Client
	metrics   *metrics
	holder    *holder
	allowance *allowance.Allowance
	seed      maphash.Seed

	pending call.WaitList
}

// decideInLog is [Group.Decide] without the tokens that this process holds.
func (d *decider) decideInLog(b *engine.Batch) (finished bool) {
	if d.opt.AwaitsImport() { // also before a read of the state here
		d.rejectCall(&call.Call{Batch: b}, engine.Importing)
		return true
	}
	if d.formats.isTooNew(b.Ops) {
		if !d.knowsVersion() {
			d.decideLater(b)
			return false
		}
		return d.decideKnown(b)
	}
	if b.Local && d.readLocally(b) {
		return true
	}
	c := &call.Call{Batch: b, Began: d.clock.Mono()}
	if r := d.role.active(); r != nil {
		return d.decideHere(r, c, false)
	}
	if status := c.Pack(); status != engine.OK {
		d.rejectCall(c, status)
		return true
	}
	if !d.forwarder.Add(c) {
		d.rejectCall(c, engine.Overloaded)
		return true
	}
	return d.trackCall(c)
}

// readLocally answers a batch that only reads from the state this node has applied.
func (d *decider) readLocally(b *engine.Batch) bool {
	if d.fsm.Loading.Load() || !d.knowsVersion() {
		return false
	}
	for i := range b.Ops {
		if b.Ops[i].Writes() {
			return false
		}
	}
	d.opt.Store.Apply(d.clock.NowOrWall(), b.Ops, b.Results)
	return true
}

// decideHere decides a call on the leader. Operations that change nothing in the applied state, such as denials, are
// answered at once: entries under way can only take more tokens, so a denial stays right. Such an answer is valid
// only if the lease shows, after the state was read, that no other node can lead. With mayWait, requests may wait for tokens that this
// node asks for.
func (d *decider) decideHere(r *leadership, c *call.Call, mayWait bool) (finished bool) {
	b := c.Batch
	if d.opt.AwaitsImport() {
		d.rejectCall(c, engine.Importing)
		return true
	}
	if d.proposer.Refuses(c) {
		d.rejectCall(c, engine.Overloaded)
		return true
	}
	if b.Atomic && d.expectsOther(r, b) {
		return true
	}
	d.noteAttempts(b)
	switch hasLease := r.hasLease(d.clock.Moment()); {
	case b.Atomic && len(b.Ops) > 1:
	case !hasLease && len(b.Ops) == 1 && d.mustWait(d.leaderTime(), &b.Ops[0], &b.Results[0]): // which is no wrong answer by one that leads no more
		return true
	case hasLease:
		isShort := d.decideReadOnly(b, c)
		switch {
		case len(c.Unanswered) == len(b.Ops), !r.hasLease(d.clock.Moment()):
			c.Unanswered = nil
		case len(c.Unanswered) == 0:
			return true
		}
		if isShort && mayWait {
			if waits, finished := d.holder.wait(b, c.Unanswered); waits {
				return finished
			}
		}
	}
	c.Summarize()
	if status := d.allowance.Queue(d.proposer, c, b, c.Unanswered); status != engine.OK {
		d.rejectCall(c, status)
		return true
	}
	return d.trackCall(c)
}

// expectsOther answers a transaction whose watched keys have changed in the applied state: it is decided before the entries under way.
func (d *decider) expectsOther(r *leadership, b *engine.Batch) bool {
	if len(b.Ops) == 0 || b.Ops[0].Verb != engine.Expect || !r.hasLease(d.clock.Moment()) {
		return false
	}
	d.opt.Store.TryReadOnly(max(d.clock.NowOrWall(), d.fsm.Now.Load()), &b.Ops[0], &b.Results[0])
	if b.Results[0].Status != engine.KeyChanged || !r.hasLease(d.clock.Moment()) {
		return false
	}
	for i := range b.Results {
		b.Results[i].Clear()
		b.Results[i].Status = engine.KeyChanged
	}
	d.metrics.decidedReadOnly.Add(1)
	return true
}

// decideReadOnly answers the operations of a batch that need no entry, and lists the others in c.Unanswered. An operation behind an
// unanswered one on the same key stays unanswered too. isShort reports that some of these may wait for more tokens.
func (d *decider) decideReadOnly(b *engine.Batch, c *call.Call) (isShort bool) {
	a := answerer{decider: d, now: d.leaderTime(), term: d.allowance.Term.Load()}
	a.isForwarded = c.Requeue != nil
	if a.term != nil && (!a.isForwarded || anyMayMix(b.Ops)) {
		a.at, a.holds = d.holder.mayDecide()
	}
	if len(b.Ops) == 1 {
		if !a.answer(&b.Ops[0], &b.Results[0]) {
			c.Unanswered = oneOp
		}
		a.count()
		return a.isShort
	}
	var touched bloom.Filter
	for i := range b.Ops {
		op := &b.Ops[i]
		if touched.MayContain(d.seed, op) || !a.answer(op, &b.Results[i]) {
			if c.Unanswered == nil {
				c.Unanswered = make([]uint32, 0, len(b.Ops)-i)
			}
			touched.Add(d.seed, op)
			c.Unanswered = append(c.Unanswered, uint32(i))
		}
	}
	a.count()
	return a.isShort
}

// answerer answers operations of one batch on the leader.
type answerer struct {
	*decider
	now   int64
	term  *allowance.Term // nil without an allowance
	holds bool            // tokens that this node holds may be spent
	at    clock.Reading   // for these

	isForwarded bool // the operations are another node's, which holds its own tokens: only those that [mayMix] are answered from the ones here

	byAllowance, readOnly int64
	isShort               bool // an unanswered request may wait for more tokens
}

// answer answers an operation from the leader's allowance, from tokens held, or from the applied state, or returns false.
func (a *answerer) answer(op *engine.Op, res *engine.Result) (done bool) {
	if a.term != nil && a.allowance.Decide(a.term, a.now, op, res) {
		a.byAllowance++
		return true
	}
	isShort := false
	if a.holds && (!a.isForwarded || mayMix(op)) {
		if done, isShort = a.holder.answer(a.at, op, res, a); done {
			return true
		}
	}
	switch {
	case a.term != nil && a.isHidden(op):
		return false
	case a.opt.Store.TryReadOnly(a.now, op, res):
		a.readOnly++
		return true
	case op.Verb == engine.Command && a.mustWait(a.now, op, res):
		return true
	}
	a.isShort = a.isShort || isShort
	return false
}

// isHidden reports whether the log's state does not know the keys of an operation yet, because their tokens are taken in the leader's
// memory.
func (a *answerer) isHidden(op *engine.Op) bool {
	switch op.Verb {
	case engine.Delete, engine.Fingerprint, engine.Refund:
		return a.allowance.Has(a.now, op.Key)
	case engine.Expect:
		return slices.ContainsFunc(op.DeclaredKeys(), func(key []byte) bool { return a.allowance.Has(a.now, key) })
	}
	return false
}

// mayMix reports whether an operation asks several limits, of which one node may hold tokens and the leader have its allowance, or gives back what
// such a request took.
func mayMix(op *engine.Op) bool { return op.IsRequest() || op.Verb == engine.Refund }

func anyMayMix(ops []engine.Op) bool {
	for i := range ops {
		if mayMix(&ops[i]) {
			return true
		}
	}
	return false
}

func (a *answerer) count() {
	if a.byAllowance > 0 {
		a.metrics.decidedByAllowance.Add(a.byAllowance)
	}
	if a.readOnly > 0 {
		a.metrics.decidedReadOnly.Add(a.readOnly)
	}
}

// oneOp is the list of positions of a batch of one.
var oneOp = []uint32{0}

// decideForwarded decides a call of another node. It reports false for taken if this node does not lead.
func (d *decider) decideForwarded(c *call.Call) (taken, finished bool) {
	r := d.role.awaitActive()
	if r == nil {
		return false, false
	}
	if d.formats.isTooNew(c.Batch.Ops) {
		d.rejectCall(c, engine.TooNew)
		return true, true
	}
	c.Began = d.clock.Mono()
	return true, d.decideHere(r, c, false)
}

// trackCall registers a call for its timeout. On a closed node it answers the call itself and returns true.
func (d *decider) trackCall(c *call.Call) (finished bool) {
	if d.pending.Add(c) {
		return false
	}
	told := c.FailUnpublished(engine.NoLeader)
	d.metrics.countFailure(told)
	return told != engine.OK
}

// rejectCall answers a call that was not taken.
func (d *decider) rejectCall(c *call.Call, status engine.Status) {
	c.FillError(status)
	d.metrics.countFailure(status)
}

// knowsVersion reports whether this node knows the cluster's version: one that has just joined or started does not know it yet.
func (d *decider) knowsVersion() bool { return d.fsm.Cluster.Load().ClusterID != "" }

// decideLater has a batch decided once this node knows the cluster's version.
func (d *decider) decideLater(b *engine.Batch) {
	later := b.Clone()
	go func() {
		for until := d.clock.Mono() + d.opt.DecideTimeout; !d.knowsVersion() && d.clock.Mono() < until; {
			time.Sleep(versionPoll)
		}
		if d.decideKnown(later) {
			later.Done()
		}
	}()
}

// versionPoll is the time between two looks at the cluster's version.
const versionPoll = 5 * time.Millisecond

// decideKnown refuses the operations of a batch that are too new and has the others decided. An atomic batch is refused as a whole.
func (d *decider) decideKnown(b *engine.Batch) (finished bool) {
	if !d.formats.isTooNew(b.Ops) {
		return d.decideInLog(b)
	}
	status := engine.TooNew
	if !d.knowsVersion() {
		status = engine.NoLeader
	}
	var rest []uint32
	for i := range b.Ops {
		if b.Atomic || d.formats.isTooNew(b.Ops[i:i+1]) {
			b.Results[i].Status, b.Results[i].Allowed = status, false
			continue
		}
		rest = append(rest, uint32(i))
	}
	return len(rest) == 0 || d.decideRest(b, rest)
}
