package transaction

import (
	"cmp"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/large"
)

// Run carries out a Command or a Script. It locks the shards of the declared keys, unless with locked the caller holds
// the locks of all that the operation may touch. With readOnly it changes nothing, and returns false if it would have.
func (r *Runner) Run(now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	if r.config.Commands == nil {
		res.StartReply()
		res.Status = engine.Unreadable
		return true
	}
	if readOnly && r.keys.IsReplicated() && !r.config.Commands.IsWorthAttempt(op) {
		return false
	}
	t := transactions.Get().(*Tx)
	defer t.end() // the only one: with more, the compiler calls each of them by way of a list
	t.runner, t.attempt, t.alone = r, readOnly, readOnly || !r.keys.IsReplicated()
	if t.shards.begin(r.keys, locked); !locked {
		t.shards.locate(op)
		t.shards.lock(op)
	}
	return r.run(t, now, op, res, readOnly)
}

// mostAtOnce bounds the operations of a group, and their declared keys.
const mostAtOnce = 16

// shortWork is the most work of a command after which the next one on its key finds the shard locked: 2 to 3 µs.
const shortWork = 256

// RunGroup carries out commands and scripts at the front of ops, in order, and returns their number, 0 if there are
// none to be carried out together. It looks up their keys in advance, because a short command spends most of its time on
// fetching its key from memory. It locks the shards of one operation at a time, as Run does: a script may take long.
// Between short commands on one key the shard stays locked.
func (r *Runner) RunGroup(now int64, ops []engine.Op, results []engine.Result) (n int) {
	keys := 0
	for ; n < min(len(ops), mostAtOnce) && (ops[n].Verb == engine.Command || ops[n].Verb == engine.Script); n++ {
		if keys += int(ops[n].KeyCount); keys > mostAtOnce {
			break
		}
	}
	if n < 2 || r.config.Commands == nil {
		return 0
	}
	t := transactions.Get().(*Tx)
	defer t.end()
	t.runner, t.attempt, t.alone = r, false, !r.keys.IsReplicated()
	t.shards.begin(r.keys, false)
	for i := range ops[:n] {
		t.shards.locate(&ops[i])
	}
	t.shards.touch()
	for i := range ops[:n] {
		if i == 0 || results[i-1].Work > shortWork || ops[i].Verb == engine.Script || !t.shards.goOn(&ops[i]) {
			t.shards.unlock()
			t.shards.lock(&ops[i])
		}
		r.run(t, now, &ops[i], &results[i], false)
		t.copies.drop()
	}
	return n
}

// run carries out an operation, the shards of whose declared keys are locked.
func (r *Runner) run(t *Tx, now int64, op *engine.Op, res *engine.Result, readOnly bool) (done bool) {
	writes := !readOnly && op.Writes()
	if !t.shards.all && t.copies.take(r, op) {
		now = r.keys.Instant(t.shards.locked, now, false)
		t.shards.unlock()
	}
	t.carryOut(now, writes, op, res)
	if t.shards.stopped {
		t.copies.inUse = false
		t.shards.unlock()
		t.shards.lockAll()
		t.carryOut(now, writes, op, res)
	}
	return t.conclude(res, readOnly)
}

// carryOut carries out an operation from its beginning.
func (t *Tx) carryOut(now int64, writes bool, op *engine.Op, res *engine.Result) {
	res.StartReply()
	t.begin(t.runner.keys.Instant(t.shards.locked, now, writes), op)
	t.runner.config.Commands.Run(t, op, res)
}

// conclude keeps what a transaction has changed. With readOnly it returns false instead.
func (t *Tx) conclude(res *engine.Result, readOnly bool) (done bool) {
	res.Work += t.work
	if t.ownTime != 0 && !t.alone {
		t.runner.OwnTimes.keep(t.ownTime)
	}
	changesScripts := t.scripts.change(t.runner.scripts)
	switch {
	case t.dropped:
		return true
	case t.used == 0 && !changesScripts && len(t.published) == 0:
		return true
	case readOnly:
		return false
	}
	if status := t.keep(res); status != engine.OK {
		res.StartReply()
		res.Status = status
		return true
	}
	if t.runner.config.Warned != nil {
		for i := range t.warnings {
			t.runner.config.Warned(&t.warnings[i])
		}
	}
	if changesScripts {
		var one engine.Result
		for i := range t.scripts {
			if t.runner.scripts.Apply(&t.scripts[i], &one) {
				t.runner.config.Note(&t.scripts[i])
			}
		}
		res.Granted++
	}
	if len(t.published) > 0 {
		t.deliver(res)
	}
	return true
}

// AppendShards appends the numbers of the shards of the declared keys.
func (r *Runner) AppendShards(numbers []uint32, op *engine.Op) []uint32 {
	return appendShards(r.keys, numbers, op)
}

// keep writes all changes, after making room for all of them.
func (t *Tx) keep(res *engine.Result) engine.Status {
	changed := t.pending[:t.used]
	if len(changed) > 1 {
		slices.SortFunc(changed, func(a, b *pending) int { return cmp.Compare(a.shard.Number, b.shard.Number) })
	}
	if status := t.makeRoom(changed); status != engine.OK {
		return status
	}
	for _, p := range changed {
		if p.shard.Write(t.now, p.tag, p.find(p.Key), &p.Update, res) {
			res.Granted++
		}
	}
	return engine.OK
}

// makeRoom makes room for the changes, or says why there is none.
func (t *Tx) makeRoom(changed []*pending) engine.Status {
	entries, bytes := 0, 0
	t.made = t.made[:0]
	for i, p := range changed {
		if i == 0 || changed[i-1].shard != p.shard {
			entries, bytes = 0, 0
		}
		if p.Gone {
			continue
		}
		limit, state := p.stateOf(p.Key)
		isThere, had := limit != nil, 0
		p.new = !isThere
		if isThere {
			p.new = algorithm.Table[limit.Algorithm].Expired(state, limit, t.now) // making room for another key may drop it: it is no place for this one
			if !p.new && limit.Is(&p.Limit) && (p.Large != nil || !keyspace.IsInBlocks(p.shard, limit, state)) {
				had = len(state)
			}
		}
		if p.new {
			if t.runner.keys.Admission.RulesFor(p.Key, isThere, t.made) != nil {
				return engine.OutOfRoom
			}
			if !isThere {
				t.made = append(t.made, p.Key)
			}
		}
		p.Size = len(p.Data)
		if p.Kind.IsData() {
			p.Size = algorithm.ValueSize(&p.Value, had)
		}
		if p.Large != nil || len(p.Data) >= large.From {
			if !makeRoomForBlocks(t, p, had) {
				return noRoom(p)
			}
		}
		if p.Size != had {
			entries, bytes = entries+1, bytes+keyspace.RecordBytes(p.Size, len(p.Key))
		}
		if bytes > 0 && !p.shard.Reserve(t.now, entries, bytes) {
			return noRoom(p)
		}
	}
	return engine.OK
}

// headRoom is a head of a value in blocks, of the size of all.
var headRoom [large.HeadBytes]byte

// makeRoomForBlocks makes room for the blocks of a key whose value is in blocks, or goes there because it is large. The
// size of the state is that of the head then.
func makeRoomForBlocks(t *Tx, p *pending, had int) bool {
	if p.Large != nil {
		return keyspace.ReserveBlocks(p.shard, t.now, p.Large.Grows(), p.new)
	}
	if p.Build = large.IsKind(p.Kind) && t.runner.large.Load(); !p.Build {
		return true
	}
	p.Size = algorithm.ValueSize(&engine.Value{Kind: p.Kind, InBlocks: true, Data: headRoom[:]}, had)
	return keyspace.ReserveBlocks(p.shard, t.now, len(p.Data)+len(p.Data)/2, p.new)
}

// noRoom is the status of a transaction for whose key there is no room.
func noRoom(p *pending) engine.Status {
	if p.new {
		return engine.OutOfRoom
	}
	return engine.NoRoomToGrow
}
