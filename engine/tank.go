package engine

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// Tank is a key whose limit has its home in another store, which lends tokens to this one; see [Loan]. It holds tokens and has no
// refill: an Acquire takes from them, an operation on the loan at home brings more.
//
// Such an operation is asked in three steps, so that it can be asked again after any failure, also by another process with the same
// store. Prepare keeps its number and the tokens that are there, before it is sent. Home answers a repeated number alike. Deposit
// keeps the answer, once. Spending between the steps makes the tokens fewer than stated, which is safe.
type Tank struct {
	Tokens    int64
	Previous  uint64 // the number of the last operation that home has carried out on the loan, 0 if there is no loan
	Number    uint64 // of the last operation that was prepared
	Prepared  bool   // it is not answered yet
	Returning bool   // it ends the loan; the tokens are no longer in the tank
	Left      int64  // the tokens that it states as unspent
	UsedAt    int64  // of the last change by a decision or a deposit
}

// MaxTanks bounds the keys with tokens of another store.
const MaxTanks = 65536

// TankBytes is the size of a tank's state: tokens; previous; number; 0 or left, shifted by two, with two flags; time of the last use.
const TankBytes = 40

const (
	tankPrepared = 1 << iota
	tankReturning
	tankFlags = iota
)

// LoadTank reads the state of a tank.
func LoadTank(state []byte) (t Tank) {
	u := binary.LittleEndian.Uint64
	t = Tank{Tokens: int64(u(state)), Previous: u(state[8:]), Number: u(state[16:]), UsedAt: int64(u(state[32:]))}
	stated := u(state[24:])
	t.Prepared, t.Returning, t.Left = stated&tankPrepared != 0, stated&tankReturning != 0, int64(stated>>tankFlags)
	t.Tokens, t.Left = min(max(0, t.Tokens), limits.MaxTokens), min(t.Left, limits.MaxTokens)
	return t
}

// Store writes the state of a tank.
func (t *Tank) Store(state []byte) {
	var stated uint64
	if t.Prepared {
		stated = uint64(t.Left)<<tankFlags | tankPrepared
		if t.Returning {
			stated |= tankReturning
		}
	}
	for i, n := range [...]uint64{uint64(t.Tokens), t.Previous, t.Number, stated, uint64(t.UsedAt)} {
		binary.LittleEndian.PutUint64(state[8*i:], n)
	}
}

// Answered is the Deposit of home's answer to the prepared operation: tokens that were lent, and the number that home has named. Tokens
// that home does not lend any longer are dropped.
func (t *Tank) Answered(key []byte, lent int64, named uint64) Op {
	op := Op{Verb: Deposit, Key: key, Loan: &Loan{Number: t.Number, Previous: named}}
	switch {
	case t.Returning:
		op.Options = Force
	case named == t.Number:
		op.Tokens = lent
	case named != t.Previous || named == 0:
		op.Options = Force
	}
	return op
}

// Loan is the prepared operation as home takes it.
func (t *Tank) Loan() Loan { return Loan{Number: t.Number, Previous: t.Previous, Left: t.Left} }
