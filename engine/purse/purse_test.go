package purse

import (
	"math"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// An operation states the unspent tokens. After each answer the purse has as many tokens as home counts, or fewer.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name      string
		returning bool
		lent      int64
		named     uint64
		want      Purse
	}{
		{"lent", false, 5, 9, Purse{Tokens: 12, Previous: 9, Number: 9}},
		{"nothing lent", false, 0, 4, Purse{Tokens: 7, Previous: 4, Number: 9}},
		{"the loan has ended", false, 0, 0, Purse{Previous: 0, Number: 9}},
		{"an operation that was given up came late", false, 3, 8, Purse{Previous: 8, Number: 9}},
		{"more than a purse can have", false, limits.MaxTokens, 9, Purse{Tokens: limits.MaxTokens, Previous: 9, Number: 9}},
		{"returned", true, 10, 0, Purse{Number: 9}},
		{"not returned", true, 0, 8, Purse{Previous: 8, Number: 9}},
	} {
		p := Purse{Tokens: 10, Previous: 4, Number: 4}
		p.Prepare(9, c.returning)
		if p.IsPending(c.lent, c.named) != (c.name == "nothing lent") {
			t.Errorf("%s: %t that it is pending", c.name, p.IsPending(c.lent, c.named))
		}
		if loan := p.Loan(); loan.Number != 9 || loan.Previous != 4 || loan.Left != 10 {
			t.Errorf("%s: %+v is sent", c.name, loan)
		}
		if !c.returning {
			p.Tokens -= 3 // spent before the answer
			if p.IsPending(c.lent, c.named) {
				t.Errorf("%s: it is pending, and no longer states the unspent tokens", c.name)
			}
		} else if p.Tokens != 0 {
			t.Errorf("%s: %d tokens that go back can be spent", c.name, p.Tokens)
		}
		brought, drops := p.Meaning(c.lent, c.named)
		if p.Deposit(brought, drops, c.named); p != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, p, c.want)
		}
	}
}

// An operation for which home had nothing to lend is closed: tokens that home lent meanwhile come in, and it lends none
// later.
func TestOpenOperationIsClosed(t *testing.T) {
	p := Purse{Tokens: 10, Previous: 4, Number: 4}
	p.Prepare(9, false)
	p.Tokens -= 3
	if !p.IsOpen(0, 4) || p.IsOpen(0, 9) || p.IsOpen(5, 9) || p.IsOpen(0, 0) {
		t.Error("an operation is open as long as home names the one before")
	}
	op, ok := p.Close([]byte("k"), []byte("h"))
	if !ok || op.Verb != engine.Return || op.Loan.Number != 9 || op.Loan.Previous != 4 || op.Loan.Left != 0 || op.Keep != 10 {
		t.Errorf("closed by %+v", op)
	}
	for _, c := range []struct {
		held  int64
		named uint64
		want  int64
	}{{10, 9, 0}, {15, 9, 5}, {15, 12, 0}, {0, 0, 0}} {
		if got := p.Closed(c.held, c.named); got != c.want {
			t.Errorf("%d tokens came, want %d, when home has %d by operation %d", got, c.want, c.held, c.named)
		}
	}
	none := Purse{}
	none.Prepare(9, false)
	if _, ok := none.Close(nil, nil); ok {
		t.Error("an operation without a loan is closed, which home cannot keep")
	}
}

// Tokens that came after the purse had ended go back, unless they may have been spent.
func TestTokensLentLateGoBack(t *testing.T) {
	first, next := Purse{}, Purse{Previous: 4}
	first.Prepare(9, false)
	next.Prepare(9, false)
	after := func(p Purse, granted int64) *engine.Result {
		res := &engine.Result{Granted: granted, Reply: make([]byte, Bytes)}
		p.Store(res.Reply)
		return res
	}
	for _, c := range []struct {
		name string
		p    *Purse
		lent int64
		came *engine.Result
		want bool
	}{
		{"the purse has ended", &first, 5, after(Purse{}, 0), true},
		{"another purse has begun", &first, 5, after(Purse{Number: 12}, 0), true},
		{"they came in", &first, 5, after(Purse{Tokens: 5, Previous: 9}, 5), false},
		{"another node brought them", &first, 5, after(Purse{Tokens: 2, Previous: 9}, 0), false},
		{"nothing was lent", &first, 0, after(Purse{}, 0), false},
		{"it had a loan before", &next, 5, after(Purse{}, 0), false},
	} {
		op, ok := c.p.LentLate([]byte("k"), []byte("h"), c.lent, c.came)
		if ok != c.want || ok && (op.Verb != engine.Return || op.Loan.Previous != 9 || op.Loan.Left != 5) {
			t.Errorf("%s: %t, %+v", c.name, ok, op)
		}
	}
}

func TestDemandRisesAtOnceAndFallsSlowly(t *testing.T) {
	d := NewDemand(0, 8)
	d.Measure(time.Second, time.Second)
	d.Ask(4)
	d.Measure(time.Second+1, time.Second) // too early
	if got := d.In(2 * time.Second); got != 16 {
		t.Errorf("%v tokens in two seconds, want 16", got)
	}
	d.Measure(2*time.Second, time.Second)
	if got := math.Round(d.In(time.Second)); got != 7 {
		t.Errorf("%v tokens in a second after 8 and 4, want 7", got)
	}
}
