package purse

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// The purse of a region or group is the state of a key. Prepare and Deposit are operations on the store, so an
// operation on the loan can be sent again after any failure, also by another process with the same store.

// Max bounds the keys of a store with a purse.
const Max = 65536

// Bytes is the size of a purse's state, of five numbers of 8 bytes: the tokens, the previous number, the number, 0 or
// the stated tokens shifted by two with two flags, and the time of the last use.
const Bytes = 40

const (
	isPrepared = 1 << iota
	isReturning
	flags = iota
)

// Load reads the state of a purse.
func Load(state []byte) (p Purse) {
	u := binary.LittleEndian.Uint64
	p = Purse{Tokens: int64(u(state)), Previous: u(state[8:]), Number: u(state[16:]), UsedAt: int64(u(state[32:]))}
	stated := u(state[24:])
	p.Prepared, p.Returning, p.Left = stated&isPrepared != 0, stated&isReturning != 0, int64(stated>>flags)
	p.Tokens, p.Left = min(max(0, p.Tokens), limits.MaxTokens), min(p.Left, limits.MaxTokens)
	return p
}

// Store writes the state of a purse.
func (p *Purse) Store(state []byte) {
	var stated uint64
	if p.Prepared {
		stated = uint64(p.Left)<<flags | isPrepared
		if p.Returning {
			stated |= isReturning
		}
	}
	for i, n := range [...]uint64{uint64(p.Tokens), p.Previous, p.Number, stated, uint64(p.UsedAt)} {
		binary.LittleEndian.PutUint64(state[8*i:], n)
	}
}

// Of returns the purse as a Prepare or Deposit has left it.
func Of(res *engine.Result) Purse {
	if len(res.Reply) != Bytes {
		return Purse{}
	}
	return Load(res.Reply)
}

// Answered returns the Deposit of home's answer to the prepared operation, by its [Purse.Meaning].
func (p *Purse) Answered(key []byte, lent int64, named uint64) engine.Op {
	brought, drops := p.Meaning(lent, named)
	op := engine.Op{Verb: engine.Deposit, Key: key, Tokens: brought, Loan: &engine.Loan{Number: p.Number, Previous: named}}
	if drops {
		op.Options = engine.Force
	}
	return op
}
