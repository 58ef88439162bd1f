package allowance

import (
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// open is an allowance in an open term, beside a log whose state is empty.
func open(t *testing.T) (s *Allowance, term *Term, now int64) {
	now = time.Now().UnixNano()
	log := store.New(store.Config{Replicated: true})
	t.Cleanup(log.Close)
	s = New(log, func() int64 { return now }, func() int64 { return now })
	t.Cleanup(s.taken.Close)
	term = s.newTerm(now, false)
	term.IsOpen.Store(true)
	return s, term, now
}

func part(key string, tokens int64) engine.Op {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 40, Rate: limits.Rate{Tokens: 10, Period: int64(time.Second)}}
	return engine.Op{Key: []byte(key), Limit: limit, Tokens: tokens}
}

// takenOf is the tokens taken from a key.
func (s *Allowance) takenOf(now int64, key string) int64 {
	carry, _ := s.taken.Taken(now, []byte(key))
	return carry.Tokens
}

// Nothing is taken for a part that is held elsewhere, whatever its limit is, and whether or not its key is under way.
// All or nothing is taken for the other parts.
func TestTakeAllBesideTokensHeld(t *testing.T) {
	s, term, now := open(t)
	slow := part("all", 5)
	slow.Limit.Rate.Period *= 100 // no allowance of it
	request := engine.Op{Verb: engine.AcquireAll, Tokens: 5, Parts: []engine.Op{part("user", 5), slow, part("tenant", 5)}}
	onItsWay := s.enter(term, now, []engine.Op{{Verb: engine.Lend, Key: slow.Key, Limit: slow.Limit, Tokens: 5}}, nil)
	defer onItsWay.leave(now, true)
	var res engine.Result
	for _, c := range []struct {
		held, missing       engine.PartSet
		user, tenant        int64
		userTokens, tenant2 int64
	}{
		{held: 0, missing: 0b010, userTokens: 5, tenant2: 5},
		{held: 0b010, user: 5, tenant: 5, userTokens: 5, tenant2: 5},
		{held: 0b010, missing: 0b100, user: 5, tenant: 5, userTokens: 5, tenant2: 6}, // beyond a quarter
		{held: 0b110, user: 10, tenant: 5, userTokens: 5, tenant2: 6},
		{held: 0b010, missing: 0b001, user: 10, tenant: 5, userTokens: 1, tenant2: 1},
		{held: 0b011, user: 10, tenant: 6, userTokens: 1, tenant2: 1},
	} {
		request.Parts[0].Tokens, request.Parts[2].Tokens = c.userTokens, c.tenant2
		missing := s.TakeAll(term, now, &request, request.Parts, c.held, &res)
		if missing != c.missing || s.takenOf(now, "user") != c.user || s.takenOf(now, "all") != 0 || s.takenOf(now, "tenant") != c.tenant {
			t.Errorf("%+v: missing %b, taken %d, %d and %d", c, missing, s.takenOf(now, "user"), s.takenOf(now, "all"), s.takenOf(now, "tenant"))
		}
		if missing == 0 && (!res.Allowed || len(res.Parts) != 3 || res.Parts[0].Remaining != 40-c.user) {
			t.Errorf("%+v: %+v", c, res)
		}
	}
}

// A key with an operation under way, or a limiter in the log's state, is missing, and nothing is taken from the others.
func TestTakeAllLeavesToTheLog(t *testing.T) {
	s, term, now := open(t)
	request := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{part("user", 1), part("all", 1)}}
	var res engine.Result
	take := func() engine.PartSet { return s.TakeAll(term, now, &request, request.Parts, 0, &res) }
	m := s.enter(term, now, []engine.Op{{Verb: engine.Acquire, Key: []byte("all"), Limit: request.Parts[1].Limit, Tokens: 1}}, nil)
	if missing := take(); missing != 0b10 {
		t.Errorf("with an operation on its way, %b is missing", missing)
	}
	m.leave(now, true)
	s.log.Apply(now, []engine.Op{{Verb: engine.Acquire, Key: []byte("all"), Limit: request.Parts[1].Limit, Tokens: 1}}, []engine.Result{res})
	if missing := take(); missing != 0b10 {
		t.Errorf("with a limiter in the log, %b is missing", missing)
	}
	if n := s.takenOf(now, "user"); n != 0 {
		t.Errorf("%d tokens were taken of the other key", n)
	}
	request.Parts[1].Key = []byte("other")
	if missing := take(); missing != 0 {
		t.Errorf("%b is missing", missing)
	}
	request.Parts[0].Limit.Capacity *= 2
	if missing := take(); missing != 0b01 || s.takenOf(now, "other") != 1 {
		t.Errorf("under another limit %b is missing, and %d are taken", missing, s.takenOf(now, "other"))
	}
	request.Parts[0].Limit.Capacity /= 2
	request.Parts[1].Key = []byte("user")
	if missing := take(); missing == 0 || s.takenOf(now, "user") != 1 {
		t.Error("one key was taken twice")
	}
}

// A check of a policy in the log's state is answered from memory.
func TestCheckFromMemory(t *testing.T) {
	s, term, now := open(t)
	res := make([]engine.Result, 1)
	s.log.Apply(now, []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{part("user:{}", 0), part("all", 0)}}}, res)
	check := engine.Op{Verb: engine.Check, Key: []byte("p"), Who: []byte("ann"), Tokens: 2}
	if !s.Decide(term, now, &check, &res[0]) || !res[0].Allowed || s.takenOf(now, "user:ann") != 2 || s.takenOf(now, "all") != 2 {
		t.Errorf("%+v; %d and %d taken", res[0], s.takenOf(now, "user:ann"), s.takenOf(now, "all"))
	}
}

// No operation on a key can enter the log between the look whether its tokens may be taken, and the taking.
func TestTakeAllLocksItsKeys(t *testing.T) {
	s, term, now := open(t)
	request := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{part("user", 1), part("all", 1)}}
	request.Parts[1].Limit = limits.Limit{Algorithm: limits.FixedWindow, Capacity: 40, Rate: limits.Rate{Period: int64(time.Second)}}
	asked := 0
	s.applied = func() int64 { // of which windows ask
		asked++
		for i := range request.Parts {
			if mu := &s.slot(s.slotOf(request.Parts[i].Key)).mu; mu.TryLock() {
				mu.Unlock()
				t.Errorf("%s is not locked", request.Parts[i].Key)
			}
		}
		return now
	}
	var res engine.Result
	if missing := s.TakeAll(term, now, &request, request.Parts, 0, &res); missing != 0 || asked == 0 {
		t.Errorf("%b is missing", missing)
	}
}

// Requests with the same keys in another order do not block each other for ever, and take no more than they are
// granted.
func TestTakeAllSideBySide(t *testing.T) {
	s, term, now := open(t)
	const each = 2000
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			parts := []engine.Op{part("a", 1), part("b", 1)}
			if i%2 == 1 {
				parts[0], parts[1] = parts[1], parts[0]
			}
			for n := range parts {
				parts[n].Limit.Capacity, parts[n].Limit.Rate.Tokens = 40*each, 10*each
			}
			request := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: parts}
			var res engine.Result
			for range each {
				if missing := s.TakeAll(term, now, &request, request.Parts, 0, &res); missing != 0 {
					t.Errorf("%b is missing", missing)
				}
			}
		})
	}
	all.Wait()
	if a, b := s.takenOf(now, "a"), s.takenOf(now, "b"); a != 4*each || b != 4*each {
		t.Errorf("%d and %d tokens were taken by %d requests", a, b, 4*each)
	}
}

// A new leader counts the allowance of an earlier one as taken, until it is back.
func TestTakeAllAfterAnEarlierLeader(t *testing.T) {
	s, _, now := open(t)
	term := s.newTerm(now, true)
	term.IsOpen.Store(true)
	request := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{part("user", 1), part("all", 1)}}
	var res engine.Result
	if missing := s.TakeAll(term, now, &request, request.Parts, 0b10, &res); missing != 0b01 {
		t.Errorf("%b is missing at the start", missing)
	}
	now += int64(time.Second) / 10 // a token is back
	for i, want := range []engine.PartSet{0, 0b01} {
		if missing := s.TakeAll(term, now, &request, request.Parts, 0b10, &res); missing != want {
			t.Errorf("%b is missing of request %d a moment later", missing, i)
		}
	}
	if back := term.Earlier + int64(limits.MaxAllowanceTime); term.priorAt(back-1) != term.Earlier || term.priorAt(back) != 0 {
		t.Error("the tokens of an earlier leader do not count for as long as they may be taken")
	}
}
