package stint

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Times of a loan.
const (
	loanFor    = 10 * time.Second // after an operation, the server counts all of the loan as spent
	spendFor   = loanFor / 2      // tokens are spent for this time, by this process's clocks
	renewAfter = spendFor / 2     // a loan in use is renewed
)

// maxRepeats bounds how often a return is sent again whose answer was lost.
const maxRepeats = 3

// A purse is the tokens of a loan, by RL.LEND, where they are spent. The server counts all of them as taken until this
// process states how many it has not spent, so the limiter and the holders of its loans never grant more than the limit
// together, in spite of refunds, deletions and other rates between. A loan whose holder is silent ends by itself and
// counts as spent then. The holder stops spending long before, so no token is spent later than it counts.
//
// Operations follow one another. The server ignores one whose previous number is not that of the last operation it
// carried out. So an answer that was lost costs tokens, but no token is there twice. All but spend and valid must be
// called one at a time.
type purse struct {
	holder   string
	spendFor time.Duration

	tokens   atomic.Int64           // not spent
	since    atomic.Pointer[moment] // when the last operation was sent that the server is known to have carried out
	number   int64                  // of the last operation that was sent
	known    int64                  // of the last operation that the server has named; 0 if there is no loan
	supplied int64                  // tokens that were spent, and those that are left
	unheard  *loanOperation         // a return without an answer, nil if there is none
	repeats  int                    // of that return
}

// A loanOperation is sent to the server.
type loanOperation struct {
	arguments []any
	number    int64
	previous  int64
	returning bool
	sentAt    moment
}

// A loanAnswer is the server's to an operation.
type loanAnswer struct {
	granted   int64 // or returned
	remaining int64 // for everybody else
	ignored   bool  // the server has named another last operation: the same may be asked again
}

// valid reports whether tokens may be spent.
func (p *purse) valid(now moment) bool {
	since := p.since.Load()
	return since != nil && now.since(*since) < p.spendFor
}

// spend takes n tokens if there are as many, and returns the number left.
func (p *purse) spend(now moment, n int64) (left int64, ok bool) {
	if !p.valid(now) {
		return 0, false
	}
	for {
		had := p.tokens.Load()
		if had < n {
			return had, false
		}
		if p.tokens.CompareAndSwap(had, had-n) {
			return had - n, true
		}
	}
}

// spent is the number of tokens spent since the beginning.
func (p *purse) spent() int64 { return p.supplied - p.tokens.Load() }

// drop forgets the tokens. The server counts them as spent.
func (p *purse) drop() (dropped int64) {
	dropped = p.tokens.Swap(0)
	p.supplied -= dropped
	return dropped
}

// lend is the operation that asks for more tokens, and renews the loan.
func (p *purse) lend(now moment, key serverKey, limit Limit, tokens int64) loanOperation {
	if !p.valid(now) {
		p.drop()
	}
	p.unheard = nil // it is too late
	op := p.operation(now)
	limit.spread = false // nobody is denied
	arguments := append(make([]any, 0, 14), "RL.LEND", string(key), words[limit.algorithm].spec)
	arguments = append(limit.appendArguments(arguments), tokens, p.holder, op.number, op.previous, "LEFT", p.tokens.Load(), "FOR", milliseconds(loanFor))
	op.arguments = limit.appendOptions(arguments)
	return op
}

// giveBack is the operation that ends the loan, or the last one again if its answer was lost. That is safe: the server
// ignores it if it has carried it out, and no token has been lent since.
func (p *purse) giveBack(now moment, key serverKey) loanOperation {
	if p.unheard != nil && p.repeats < maxRepeats {
		p.repeats++
		return *p.unheard
	}
	if !p.valid(now) {
		p.drop()
	}
	op := p.operation(now)
	op.returning = true
	op.arguments = []any{"RL.RETURN", string(key), p.holder, op.number, op.previous, p.drop()}
	again := op
	p.unheard, p.repeats = &again, 0
	return op
}

func (p *purse) operation(now moment) loanOperation {
	p.number++
	return loanOperation{number: p.number, previous: p.known, sentAt: now}
}

// hear takes the answer to the last operation that was sent. Answers to operations that were given up must not be
// heard.
func (p *purse) hear(op loanOperation, reply any, err error) (loanAnswer, error) {
	if err == nil || !undecided(err) && !isContextError(err) {
		p.unheard = nil
	}
	if err != nil {
		if strings.Contains(err.Error(), "ERR the holder states more tokens than") {
			p.drop()
		}
		return loanAnswer{}, err
	}
	n, err := integers(reply, 5)
	if err != nil {
		return loanAnswer{}, err
	}
	a := loanAnswer{granted: n[0], remaining: n[2]}
	if a.granted < 0 || a.granted > 0 && !op.returning && n[4] != op.number {
		return loanAnswer{}, fmt.Errorf("%w (%v)", errReply, reply)
	}
	p.known = n[4]
	switch {
	case op.returning:
	case p.known == op.number:
		p.since.Store(&op.sentAt)
		p.supplied += a.granted
		p.tokens.Add(a.granted)
	default:
		a.ignored = op.previous != p.known
		if p.known < op.previous { // the loan was ended
			p.drop()
		}
	}
	return a, nil
}

// A moment is a reading of two clocks, in nanoseconds: the monotonic one, which may stand still while the machine
// sleeps, and that of the time of day, which may be set.
type moment struct{ monotonic, day int64 }

// since is the time that has passed since an earlier moment: the longer by the two clocks, because tokens are spent too
// late after a sleep that the clock in use does not show. Linux stops its monotonic clock then; the clock that goes on,
// CLOCK_BOOTTIME, is not to be read without a system call for each decision. Somebody who sets the time of day back
// while the machine sleeps hides the sleep.
func (m moment) since(earlier moment) time.Duration {
	return time.Duration(max(m.monotonic-earlier.monotonic, m.day-earlier.day))
}
