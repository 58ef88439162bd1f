package purse

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A region's purse is the state of a key. Prepare and Deposit are operations on its store, so an operation on the loan can be asked again
// after any failure, also by another process with the same store.

// Max bounds the keys of a store with a purse.
const Max = 65536

// Bytes is the size of a purse's state: tokens; previous; number; 0 or left, shifted by two, with two flags; time of the last use.
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

// Of is the purse that a Prepare or Deposit has left.
func Of(res *engine.Result) Purse {
	if len(res.Reply) != Bytes {
		return Purse{}
	}
	return Load(res.Reply)
}

// Answered is the Deposit of home's answer to the prepared operation, as [Purse.Meaning] reads it.
func (p *Purse) Answered(key []byte, lent int64, named uint64) engine.Op {
	brought, drops := p.Meaning(lent, named)
	op := engine.Op{Verb: engine.Deposit, Key: key, Tokens: brought, Loan: &engine.Loan{Number: p.Number, Previous: named}}
	if drops {
		op.Options = engine.Force
	}
	return op
}
