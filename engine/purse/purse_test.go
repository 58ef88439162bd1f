package purse

import (
	"math"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// An operation states the unspent tokens, and each answer of home leaves what home counts, or less.
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
