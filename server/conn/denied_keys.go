package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/slowlog"
	"github.com/stintdb/stint/server/topkeys"
)

// offerTopKey offers the key of a denial to the list of keys denied most. Of several limits, it offers the key of the
// limit that binds.
func (e *Env) offerTopKey(number int, batch, out *commandBatch, now int64) {
	if e.config().TopKeys == "off" {
		return
	}
	defer e.TopKeys.Next(&out.sampler)
	var key []byte
	binding := batch.decision.Results[number].Binding // of several limits
	switch batch.decision.Ops[number].Request().Verb {
	case engine.AcquireAll:
		key = database.KeyOf(batch.key(number, binding))
	case engine.Check:
		out.policyKey = e.Keys.AppendPolicyKey(out.policyKey[:0], batch.key(number, 0), batch.key(number, 1),
			batch.fields(number), binding)
		if key = out.policyKey; len(key) == 0 {
			return // the leader has decided, and this node has not applied the policy yet
		}
	case engine.Extend:
		e.countExtension(batch.key(number, 0), binding, now, &out.sampler)
		return
	default:
		e.TopKeys.Offer(database.KeyOf(batch.key(number, 0)), now, &out.sampler)
		return
	}
	e.TopKeys.Offer(key, now, &out.sampler)
	e.countPassed(number, binding, batch, out, now, &out.sampler) // the other limits would have granted it
}

// HashKey returns what is shown in place of a key where --top-keys is hashed. It is stable until the server restarts.
func (e *Env) HashKey(key []byte) string { return topkeys.Hash(e.KeySalt, key) }

const noBinding = -1

// offerGranted counts a request that was granted for the keys of its limits.
func (e *Env) offerGranted(number int, batch, out *commandBatch, now int64) {
	defer e.TopKeys.Next(&out.passes)
	e.countPassed(number, noBinding, batch, out, now, &out.passes)
}

// countPassed counts a request for the keys of its limits, except the limit that binds.
func (e *Env) countPassed(number, binding int, batch, out *commandBatch, now int64, at *topkeys.Sampler) {
	if e.config().TopKeys == "off" {
		return
	}
	switch request := batch.decision.Ops[number].Request(); request.Verb {
	case engine.AcquireAll:
		for i := range request.Parts {
			if i != binding {
				e.TopKeys.Pass(database.KeyOf(batch.key(number, i)), now, at)
			}
		}
	case engine.Check:
		id, fields := batch.key(number, 1), batch.fields(number)
		for i := range batch.decision.Results[number].Parts {
			if i == binding {
				continue
			}
			out.policyKey = e.Keys.AppendPolicyKey(out.policyKey[:0], batch.key(number, 0), id, fields, i)
			if len(out.policyKey) > 0 {
				e.TopKeys.Pass(out.policyKey, now, at)
			}
		}
	case engine.Extend:
		e.countExtension(batch.key(number, 0), binding, now, at)
	default:
		e.TopKeys.Pass(database.KeyOf(batch.key(number, 0)), now, at)
	}
}

// countExtension offers the key of the limit that denied an extension, unless binding is noBinding, and counts it for
// the keys of the others.
func (e *Env) countExtension(id []byte, binding int, now int64, at *topkeys.Sampler) {
	i := 0
	e.Keys.LimitKeys(&engine.Op{Verb: engine.Settle, Key: id}, func(key []byte) {
		if key = database.KeyOf(key); i == binding {
			e.TopKeys.Offer(key, now, at)
		} else {
			e.TopKeys.Pass(key, now, at)
		}
		i++
	})
}

// key is one of the keys of an operation, or its caller's id.
func (batch *commandBatch) key(number, which int) []byte {
	if batch.copiedKeys.inUse {
		return batch.copiedKeys.key(number, which)
	}
	switch op := batch.decision.Ops[number].Request(); {
	case op.Verb == engine.AcquireAll:
		return op.Parts[which].Key
	case which == 1:
		return op.Who
	default:
		return op.Key
	}
}

// fields returns the fields of a Check.
func (batch *commandBatch) fields(number int) [][]byte {
	fields := batch.decision.Ops[number].Request().Args
	if !batch.copiedKeys.inUse || len(fields) == 0 {
		return fields
	}
	copied := make([][]byte, len(fields))
	for i := range copied {
		copied[i] = batch.key(number, 2+i)
	}
	return copied
}

// copiedKeys are copies of the keys of a batch whose decider finishes later: by then the input they lie in is gone.
type copiedKeys struct {
	inUse   bool
	command []byte // the first, for SLOWLOG
	bytes   []byte
	ends    []int // of each key in bytes
	first   []int // of each operation's keys in ends
}

// copyFrom copies the keys by which a denial is listed, those of a WATCH, the names in a change of a policy, and the
// first command.
func (k *copiedKeys) copyFrom(ops []engine.Op, first []byte) {
	k.inUse = true
	k.command = append(k.command[:0], first[:min(len(first), slowlog.MaxRawBytes)]...)
	k.bytes, k.ends, k.first = k.bytes[:0], k.ends[:0], k.first[:0]
	for i := range ops {
		k.first = append(k.first, len(k.ends))
		switch op := ops[i].Request(); op.Verb {
		case engine.Acquire, engine.Extend, engine.Fingerprint, engine.SetPolicy, engine.DropPolicy:
			k.add(op.Key)
		case engine.SetOverride, engine.Check:
			k.add(op.Key)
			k.add(op.Who)
			for _, field := range op.Args {
				k.add(field)
			}
		case engine.AcquireAll:
			for j := range op.Parts {
				k.add(op.Parts[j].Key)
			}
		}
	}
}

func (k *copiedKeys) add(key []byte) {
	k.bytes = append(k.bytes, key...)
	k.ends = append(k.ends, len(k.bytes))
}

// key is one of the keys of an operation.
func (k *copiedKeys) key(op, number int) []byte {
	at := k.first[op] + number
	from := 0
	if at > 0 {
		from = k.ends[at-1]
	}
	return k.bytes[from:k.ends[at]]
}
