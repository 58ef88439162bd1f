package store

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/policy"
)

// Digest is the SHA-256 of the entries of Dump, of all policies with their overrides, of the restrictions of new keys,
// and of the shared limiters; it leaves out counters.
func (s *Store) Digest(now int64) (sum [32]byte) {
	h := sha256.New()
	var b []byte
	s.keys.Dump(now, func(e keyspace.Entry) {
		b = layout.AppendText(e.Limit.Append(b[:0]), e.Key)
		b = layout.AppendText(b, e.State)
		h.Write(b)
	})
	s.PolicyOps(func(op *engine.Op) {
		if op.Verb == engine.KeepOverflow {
			l := &op.Parts[0].Limit
			if algorithm.Table[l.Algorithm].Expired(op.Who, l, now) {
				return // an expired one is left out, whether it was cleaned up or not
			}
			op.Who = keyspace.PlainState(l, op.Who, now)
		}
		b = appendOp(b[:0], op)
		h.Write(b)
	})
	h.Sum(sum[:0])
	return sum
}

// policySum has the SHA-256 of policies at a version of them.
type policySum struct {
	policies *policy.Policies

	mu      sync.Mutex
	isKnown bool
	version uint64
	sum     [engine.PoliciesSumBytes]byte
}

// PoliciesSum is the SHA-256 of all policies with their overrides. It is computed anew after a change. An
// [engine.Expect] in the log depends on it, so it must stay the same in later versions.
func (p *policySum) PoliciesSum() [engine.PoliciesSumBytes]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := p.policies.Version()
	if p.isKnown && p.version == version {
		return p.sum
	}
	h := sha256.New()
	var b []byte
	p.policies.Ops(func(op *engine.Op) {
		b = appendOp(b[:0], op)
		h.Write(b)
	})
	p.isKnown, p.version = true, version
	h.Sum(p.sum[:0])
	return p.sum
}

// appendOp appends an operation on a policy, a restriction or a shared limiter, for comparison alone.
func appendOp(b []byte, op *engine.Op) []byte {
	b = op.Limit.Append(append(b, byte(op.Verb), op.OptionBits()))
	b = layout.AppendText(b, op.Key)
	b = layout.AppendText(b, op.Who)
	if op.Options&engine.FixedCost != 0 || op.Keep != 0 {
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(op.Tokens)), int64(op.Keep))
	}
	if op.Weight != 0 {
		b = binary.AppendVarint(append(b, 'w'), op.Weight)
	}
	b = binary.AppendUvarint(b, uint64(len(op.Parts)))
	for i := range op.Parts {
		b = appendOp(b, &op.Parts[i])
	}
	return b
}
