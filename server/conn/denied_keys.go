package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/slowlog"
)

// offerTopKey offers the key of a denial to the list of the most denied ones: of several limits, that of the one that binds.
func (s *Session) offerTopKey(number int, batch, out *commandBatch) {
	if s.env.config().TopKeys == "off" {
		return
	}
	var key []byte
	binding := batch.decision.Results[number].Binding
	switch batch.decision.Ops[number].Request().Verb {
	case engine.AcquireAll:
		key = batch.key(number, binding)
	case engine.Check:
		out.policyKey = s.env.Keys.AppendPolicyKey(out.policyKey[:0], batch.key(number, 0), batch.key(number, 1), batch.fields(number), binding)
		key = out.policyKey
	default:
		key = batch.key(number, 0)
	}
	s.env.TopKeys.Offer(key, s.started, &out.sampler)
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

// fields are those of a Check.
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

// copyFrom copies the keys by which a denial is listed, and the first command.
func (k *copiedKeys) copyFrom(ops []engine.Op, first []byte) {
	k.inUse = true
	k.command = append(k.command[:0], first[:min(len(first), slowlog.MaxRawBytes)]...)
	k.bytes, k.ends, k.first = k.bytes[:0], k.ends[:0], k.first[:0]
	for i := range ops {
		k.first = append(k.first, len(k.ends))
		switch op := ops[i].Request(); op.Verb {
		case engine.Acquire:
			k.add(op.Key)
		case engine.Check:
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
