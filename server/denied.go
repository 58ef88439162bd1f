package server

import "github.com/stintdb/stint/engine"

// listDenied offers the key of a denial to the list of the most denied ones: of several limits, that of the one that binds.
func (s *session) listDenied(number int, ws, out *workspace) {
	if s.host.Config().TopKeys == "off" {
		return
	}
	var key []byte
	binding := ws.batch.Results[number].Binding
	switch ws.batch.Ops[number].Verb {
	case engine.AcquireAll:
		key = ws.key(number, binding)
	case engine.Check:
		out.policyKey = s.host.keys.AppendPolicyKey(out.policyKey[:0], ws.key(number, 0), ws.key(number, 1), binding)
		key = out.policyKey
	default:
		key = ws.key(number, 0)
	}
	s.host.denied.Offer(key, s.started, &out.sampler)
}

// key is one of the keys of an operation, or its caller's id.
func (ws *workspace) key(number, which int) []byte {
	if ws.kept.inUse {
		return ws.kept.key(number, which)
	}
	switch op := &ws.batch.Ops[number]; {
	case op.Verb == engine.AcquireAll:
		return op.Parts[which].Key
	case which == 1:
		return op.Who
	default:
		return op.Key
	}
}

// keptKeys are copies of the keys of a batch whose decider finishes later: by then the input they lie in is gone.
type keptKeys struct {
	inUse   bool
	command []byte // the first, for SLOWLOG
	bytes   []byte
	ends    []int // of each key in bytes
	first   []int // of each operation's keys in ends
}

// keep copies the keys by which a denial is listed, and the first command.
func (k *keptKeys) keep(ops []engine.Op, first []byte) {
	k.inUse = true
	k.command = append(k.command[:0], first[:min(len(first), slowRawBytes)]...)
	k.bytes, k.ends, k.first = k.bytes[:0], k.ends[:0], k.first[:0]
	for i := range ops {
		k.first = append(k.first, len(k.ends))
		switch op := &ops[i]; op.Verb {
		case engine.Acquire:
			k.add(op.Key)
		case engine.Check:
			k.add(op.Key)
			k.add(op.Who)
		case engine.AcquireAll:
			for j := range op.Parts {
				k.add(op.Parts[j].Key)
			}
		}
	}
}

func (k *keptKeys) add(key []byte) {
	k.bytes = append(k.bytes, key...)
	k.ends = append(k.ends, len(k.bytes))
}

// key is one of the keys of an operation.
func (k *keptKeys) key(op, number int) []byte {
	at := k.first[op] + number
	from := 0
	if at > 0 {
		from = k.ends[at-1]
	}
	return k.bytes[from:k.ends[at]]
}
