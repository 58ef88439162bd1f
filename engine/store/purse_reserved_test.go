package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// purseOf has a purse with tokens of a limit.
type purseOf struct {
	t     *testing.T
	s     *Store
	key   string
	limit limits.Limit
	now   int64
}

func newPurseOf(t *testing.T, algorithm limits.Algorithm, tokens int64) *purseOf {
	p := &purseOf{t: t, s: New(Config{Shards: 2}), key: "k", limit: slow, now: epoch}
	t.Cleanup(p.s.Close)
	p.limit.Algorithm = algorithm.Purse()
	p.exchange(tokens)
	return p
}

// exchange tells home which tokens are spent, and brings others.
func (p *purseOf) exchange(tokens int64) {
	p.now++
	prepared := ask(p.s, p.now, engine.Op{Verb: engine.Prepare, Key: []byte(p.key), Limit: p.limit})
	x := purse.Of(&prepared)
	ask(p.s, p.now, x.Answered([]byte(p.key), tokens, x.Number))
}

func (p *purseOf) reserve(id string, tokens int64) {
	res := ask(p.s, p.now, reserveOne(id, engine.Op{Key: []byte(p.key), Limit: p.limit, Tokens: tokens}))
	if !res.Allowed || res.Granted != tokens {
		p.t.Fatalf("%d tokens: %+v", tokens, res)
	}
}

// settle settles a reservation and checks what is left in the purse, and what its home is to be told.
func (p *purseOf) settle(id string, tokens, left, atHome int64) {
	p.t.Helper()
	res := ask(p.s, p.now, settleAt(id, tokens))
	if res.Status != engine.OK || res.Parts[0].Granted != tokens || res.Parts[0].Remaining != left || res.Parts[0].Lent != atHome {
		p.t.Errorf("%s settled at %d: %+v, want %d left and %d at home", id, tokens, res, left, atHome)
	}
	if again := ask(p.s, p.now, settleAt(id, tokens)); again.Status != engine.OK || again.Parts[0].Lent != 0 || again.Parts[0].Remaining != left {
		p.t.Errorf("%s settled again: %+v", id, again)
	}
}

// What a reservation does not use goes back to the purse as long as home has not heard of it, and then to home.
func TestReservedFromPurse(t *testing.T) {
	p := newPurseOf(t, limits.TokenBucket, 20)
	p.reserve("a", 8)
	p.reserve("b", 8)
	p.settle("a", 3, 9, 0)
	p.exchange(1)
	p.settle("b", 3, 10, 5)
	p.reserve("c", 2)
	p.settle("c", 14, 0, -4) // 12 more, of which the purse has 8
	p.exchange(9)
	p.reserve("d", 1)
	p.exchange(0)
	if res := ask(p.s, p.now, engine.Op{Verb: engine.Extend, Key: []byte("d"), Nth: 1, Tokens: 4}); !res.Allowed || res.Number != 5 {
		t.Errorf("%+v", res)
	}
	p.settle("d", 0, 8, 1) // home has heard of the first token
}

// Tokens of a window that home has heard of may be from an earlier window, so they count as used.
func TestReservedFromPurseOfWindow(t *testing.T) {
	p := newPurseOf(t, limits.FixedWindow, 20)
	p.reserve("a", 8)
	p.reserve("b", 8)
	p.settle("a", 3, 9, 0)
	p.exchange(0)
	p.settle("b", 3, 9, 0)
}

// A purse that is gone gives nothing back, and does not begin again.
func TestReservedFromPurseThatIsGone(t *testing.T) {
	p := newPurseOf(t, limits.TokenBucket, 8)
	p.reserve("a", 8)
	prepared := ask(p.s, p.now, engine.Op{Verb: engine.Prepare, Key: []byte(p.key), Limit: p.limit, Options: engine.Cancel})
	x := purse.Of(&prepared)
	ask(p.s, p.now, x.Answered([]byte(p.key), 0, 0))
	p.settle("a", 3, 0, 5)
	if p.s.PurseCount() != 0 {
		t.Error("there is a purse")
	}
	p.exchange(9)
	p.reserve("b", 9)
	p.exchange(0)
	p.exchange(4)
	p.settle("b", 0, 4, 9)
	ids := 0
	p.reserve("c", 1)
	ReservedFromPurses(p.s, p.now, func([]byte) { ids++ })
	if ids != 3 {
		t.Errorf("%d reservations", ids)
	}
}

// Home counts an old loan as spent, so its purse takes nothing back, whether its tokens were dropped or there were none.
func TestReservedFromPurseOfAnOldLoan(t *testing.T) {
	for _, drops := range []bool{true, false} {
		p := newPurseOf(t, limits.TokenBucket, 20)
		p.reserve("young", 12)
		p.reserve("old", 8)
		settle := settleAt("young", 10)
		settle.MaxWait = 3 * sec
		if p.now += 2 * sec; !drops {
			settle.Tokens = 12
		}
		if res := ask(p.s, p.now, settle); res.Parts[0].Remaining != 12-settle.Tokens || res.Parts[0].Lent != 0 {
			t.Errorf("of a young loan: %+v", res)
		}
		if p.now += sec; drops {
			ask(p.s, p.now, engine.Op{Verb: engine.Prepare, Key: []byte(p.key), Limit: p.limit, Options: engine.Force})
		}
		settle.Key, settle.Tokens = []byte("old"), 1
		if res := ask(p.s, p.now, settle); res.Parts[0].Remaining != 0 || res.Parts[0].Lent != 7 {
			t.Errorf("of an old loan, which drops its tokens: %v: %+v", drops, res)
		}
	}
}
