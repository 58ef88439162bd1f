package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

func penaltyLimit(denials, window, ban, longest int64) limits.Limit {
	return limits.Limit{Algorithm: limits.Penalty, Capacity: denials, Rate: limits.Rate{Period: window}, Ban: ban, LongestBan: longest}
}

// knock is a request that another limit than the penalty denies, for ever.
func knock(penalty limits.Limit, key string) engine.Op {
	return allOf(engine.Op{Key: []byte("closed"), Limit: bucket(1, 1, sec), Tokens: 2}, engine.Op{Key: []byte(key), Limit: penalty, Tokens: 2})
}

func allOf(parts ...engine.Op) engine.Op {
	return engine.Op{Verb: engine.AcquireAll, Tokens: 2, Parts: parts}
}

// naivePenalty is a penalty as the handbook describes it: all denials since the last ban, and all bans.
type naivePenalty struct {
	denials []int64
	bans    []naiveBan
}

type naiveBan struct{ from, until int64 }

func (n *naivePenalty) last() naiveBan {
	if len(n.bans) == 0 {
		return naiveBan{}
	}
	return n.bans[len(n.bans)-1]
}

// inWindow returns when the present window began, and the denials in it. A window begins with the first denial after the
// one before.
func (n *naivePenalty) inWindow(now int64, l limits.Limit) (start, count int64) {
	for _, at := range n.denials {
		if count == 0 || at >= start+l.Rate.Period {
			start, count = at, 0
		}
		count++
	}
	if now >= start+l.Rate.Period {
		return 0, 0
	}
	return start, count
}

// count counts a denial, and returns how long the ban is that it begins.
func (n *naivePenalty) count(now int64, l limits.Limit) (ban int64) {
	n.denials = append(n.denials, now)
	if _, count := n.inWindow(now, l); count < l.Capacity {
		return 0
	}
	ban = l.Ban
	if last := n.last(); len(n.bans) > 0 && now < last.until+max(l.Rate.Period, last.until-last.from) {
		ban = min(2*(last.until-last.from), l.LongestBan)
	}
	n.bans, n.denials = append(n.bans, naiveBan{now, now + ban}), nil
	return ban
}

func (n *naivePenalty) report(now int64, l limits.Limit) (remaining, reset int64) {
	if left := n.last().until - now; left > 0 {
		return 0, left
	}
	if start, count := n.inWindow(now, l); count > 0 {
		return l.Capacity, start + l.Rate.Period - now
	}
	return l.Capacity, 0
}

// penaltyModel is a window beside two penalties, the second of which also counts the denials by bans of the first.
type penaltyModel struct {
	window    naiveFixed
	penalties [2]naivePenalty
}

// answers is what a request for the limits of some parts is answered, the window first.
func (m *penaltyModel) answer(now int64, op engine.Op) (res engine.Result) {
	res = engine.Result{Binding: -1, Parts: make([]engine.Result, 3)}
	l := op.Parts[0].Limit
	free, waits := m.window.free(now, l), [3]int64{}
	switch {
	case op.Tokens > l.Capacity:
		waits[0] = engine.NeverWait
	case op.Tokens > free:
		waits[0] = m.window.end - now
	}
	for i := range m.penalties {
		waits[i+1] = max(0, m.penalties[i].last().until-now)
	}
	isDenied := waits != [3]int64{}
	counts := isDenied && op.Options&engine.Peek == 0
	for i := range m.penalties {
		if counts && waits[i+1] == 0 {
			waits[i+1] = m.penalties[i].count(now, op.Parts[i+1].Limit)
		}
	}
	for i, wait := range waits {
		if wait == engine.NeverWait || wait > res.Wait && res.Wait != engine.NeverWait {
			res.Wait, res.Binding = wait, i
		}
	}
	if !isDenied {
		if res.Allowed, res.Granted = true, op.Tokens; op.Options&engine.Peek == 0 {
			m.window.take(now, l, op.Tokens, "")
		}
		free -= op.Tokens
	}
	res.Parts[0].Limit, res.Parts[0].Remaining = l.Capacity, free
	for i := range m.penalties {
		p := &res.Parts[i+1]
		p.Limit = op.Parts[i+1].Limit.Capacity
		p.Remaining, p.Reset = m.penalties[i].report(now, op.Parts[i+1].Limit)
	}
	return res
}

// Random requests are answered as by the naive model, at each size of limits; also on a replica that is swept, answers
// what changes nothing read-only, and is made anew from the other's state.
func TestPenaltyEqualsNaiveModel(t *testing.T) {
	denied, bans, doubled := 0, 0, 0
	for seed := range uint64(testsize.Pick(60, 400)) {
		r := rand.New(rand.NewPCG(seed, 51))
		one, other := New(Config{Shards: 1}), New(Config{Shards: 4})
		m := &penaltyModel{}
		window := 1 + r.Int64N(4*sec)
		ban := 1 + r.Int64N(5*sec)
		parts := []engine.Op{
			{Key: []byte("window"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1 + r.Int64N(3), Rate: limits.Rate{Period: 1 + r.Int64N(2*sec)}}},
			{Key: []byte("short"), Limit: penaltyLimit(1+r.Int64N(4), window, ban, ban+r.Int64N(2)*r.Int64N(40*sec))},
			{Key: []byte("long"), Limit: penaltyLimit(1+r.Int64N(12), 20*sec, 1+r.Int64N(60*sec), limits.MaxDuration)},
		}
		now, a, b := epoch, make([]engine.Result, 1), make([]engine.Result, 1)
		for i := range 300 {
			now += []int64{0, 1, r.Int64N(sec / 2), r.Int64N(6 * sec), r.Int64N(60 * sec)}[min(4, r.IntN(60)/11)]
			op := allOf(append([]engine.Op(nil), parts...)...)
			op.Tokens, op.Options = 1+r.Int64N(3)/2, stepPeek(r)
			for j := range op.Parts {
				op.Parts[j].Tokens, op.Parts[j].Options = op.Tokens, op.Options
			}
			want := m.answer(now, op)
			one.Apply(now, []engine.Op{op}, a)
			if other.Sweep(now, r.IntN(9)); !other.TryReadOnly(now, &op, &b[0]) {
				other.Apply(now, []engine.Op{op}, b)
			}
			got := a[0]
			for j := range got.Parts {
				p := &got.Parts[j]
				if j == 0 {
					p.Reset = 0 // is tested elsewhere
				}
				*p = engine.Result{Limit: p.Limit, Remaining: p.Remaining, Reset: p.Reset}
			}
			got = engine.Result{Allowed: got.Allowed, Granted: got.Granted, Wait: got.Wait, Binding: got.Binding, Parts: got.Parts}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || b[0].Allowed != got.Allowed || b[0].Wait != got.Wait || b[0].Binding != got.Binding {
				t.Fatalf("seed %d step %d at epoch+%d: %+v\nis answered %+v\nreplica     %+v\nnot         %+v", seed, i, now-epoch, op, got, b[0], want)
			}
			if got.Binding >= 0 {
				denied++
			}
			if i%60 == 59 {
				other = remade(t, other, now)
			}
			if one.Digest(now) != other.Digest(now) {
				t.Fatalf("seed %d step %d:\n%s\n%s", seed, i, dumpText(one, now), dumpText(other, now))
			}
		}
		for _, p := range m.penalties {
			for _, ban := range p.bans {
				if bans++; ban.until-ban.from > parts[1].Limit.Ban && ban.until-ban.from > parts[2].Limit.Ban {
					doubled++
				}
			}
		}
		one.Close()
		other.Close()
	}
	if denied < 1000 || bans < 200 || doubled < 20 {
		t.Errorf("%d denials, %d bans, %d longer ones: the traffic tries too little", denied, bans, doubled)
	}
}

// A ban ends at its time whatever is asked meanwhile, and a penalty is forgotten once nothing of it can matter.
func TestPenaltySteps(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	short := penaltyLimit(2, 10*sec, 60*sec, 200*sec)
	look := engine.Op{Verb: engine.Look, Key: []byte("p")}
	for i, step := range []struct{ at, ban, reset int64 }{
		{0, 0, 10 * sec},
		{9, 60 * sec, 60 * sec},  // the second denial within 10 s
		{10, 59 * sec, 59 * sec}, // makes the ban no longer
		{68, sec, sec},           // nor does one at its end
		{69, 0, 10 * sec},        // it is over
		{79, 0, 10 * sec},        // and so is the next window
		{80, 120 * sec, 120 * sec},
		{200, 0, 10 * sec},
		{201, 200 * sec, 200 * sec}, // 240 s would be beyond the longest
		{401 + 200, 0, 10 * sec},    // the ban is forgotten after its own length
		{401 + 201, 60 * sec, 60 * sec},
	} {
		res := ask(s, epoch+step.at*sec, knock(short, "p"))
		if p := res.Parts[1]; res.Allowed || p.Wait != step.ban || p.Reset != step.reset {
			t.Errorf("step %d: %+v", i, p)
		}
	}
	const end = epoch + (401+201+60)*sec
	if res := ask(s, end+59*sec, look); res.Status != engine.OK || res.Reset != 0 || res.Remaining != 2 {
		t.Errorf("the ban is forgotten before the next would not be longer: %+v", res)
	}
	if res := ask(s, end+60*sec, look); res.Status != engine.NotFound {
		t.Errorf("remembered for too long: %+v", res)
	}
	if res := ask(s, end, allOf(engine.Op{Key: []byte("open"), Limit: bucket(5, 1, sec), Tokens: 2}, engine.Op{Key: []byte("q"), Limit: short, Tokens: 2})); !res.Allowed || ask(s, end, engine.Op{Verb: engine.Look, Key: []byte("q")}).Status != engine.NotFound {
		t.Errorf("a grant is remembered: %+v", res)
	}
}

// A shorter ban in the limit shortens one that lasts already.
func TestPenaltyOfALoweredLimit(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	ask(s, epoch, knock(penaltyLimit(1, sec, 3600*sec, 3600*sec), "p"))
	if p := ask(s, epoch+sec, knock(penaltyLimit(1, sec, 60*sec, 60*sec), "p")).Parts[1]; p.Wait != 59*sec {
		t.Errorf("%+v", p)
	}
	if p := ask(s, epoch+60*sec, knock(penaltyLimit(3, sec, 60*sec, 60*sec), "p")).Parts[1]; p.Wait != 0 || denialsOf(s, epoch+60*sec, "p") != "1" {
		t.Errorf("%+v", p)
	}
}

// What counts a denial, and what does not.
func TestPenaltyCounts(t *testing.T) {
	limit := penaltyLimit(9, sec, sec, sec)
	lease := engine.Op{Key: []byte("lease"), Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: 1, Rate: limits.Rate{Period: 60 * sec}}, Tokens: 1, Who: []byte("b")}
	penalty := engine.Op{Key: []byte("p"), Limit: limit, Tokens: 1}
	waits := func(nanos int64) engine.Op {
		op := allOf(lease, penalty)
		op.SetMaxWait(nanos)
		return op
	}
	peek, free, reserve := knock(limit, "p"), knock(limit, "p"), knock(limit, "p")
	peek.Options = engine.Peek
	for i := range peek.Parts {
		peek.Parts[i].Options = engine.Peek
	}
	free.Parts[1].Options, free.Parts[1].Tokens = engine.FixedCost, 0
	tests := map[string]struct {
		op   engine.Op
		want string
	}{
		"a denial":              {knock(limit, "p"), "1"},
		"PEEK":                  {peek, ""},
		"COST 0":                {free, ""},
		"a lease":               {waits(0), "1"},
		"a lease, the last try": {waits(engine.NoWait), "1"},
		"a place awaited":       {waits(sec), ""},
		"with an id":            {engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: sec, Parts: []engine.Op{reserve}}, "1"},
		"a purse":               {allOf(engine.Op{Key: []byte("away"), Limit: limits.Limit{Algorithm: limits.PurseTokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: sec}}, Tokens: 2}, penalty), ""},
		"another type":          {allOf(engine.Op{Key: []byte("lease"), Limit: bucket(1, 1, sec), Tokens: 2}, penalty), ""},
	}
	for name, test := range tests {
		s := New(Config{Shards: 1})
		held := lease
		held.Who = []byte("a")
		ask(s, epoch, held)
		if res := ask(s, epoch, test.op); res.Allowed {
			t.Errorf("%s: %+v", name, res)
		}
		if got := denialsOf(s, epoch, "p"); got != test.want {
			t.Errorf("%s: %q denials count, not %q", name, got, test.want)
		}
		s.Close()
	}
}

// denialsOf are the denials that count in a penalty, "" if it is not known.
func denialsOf(s *Store, now int64, key string) string {
	look := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte(key)})
	for _, d := range look.Details() {
		if d.Name == "counted" {
			return d.Text
		}
	}
	return ""
}

// A penalty takes no part in what a reservation charges, and a ban does not stop one that goes on.
func TestPenaltyInReservations(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := penaltyLimit(1, sec, 600*sec, 600*sec)
	request := allOf(engine.Op{Key: []byte("tokens"), Limit: bucket(100, 1, 3600*sec), Tokens: 2}, engine.Op{Key: []byte("p"), Limit: limit, Tokens: 2})
	if res := ask(s, epoch, engine.Op{Verb: engine.Reserve, Key: []byte("call"), MaxWait: 600 * sec, Parts: []engine.Op{request}}); !res.Allowed {
		t.Fatalf("%+v", res)
	}
	ask(s, epoch, knock(limit, "p"))
	if res := ask(s, epoch, request); res.Allowed || res.Binding != 1 || res.Wait != 600*sec {
		t.Errorf("not banned: %+v", res)
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Extend, Key: []byte("call"), Nth: 1, Tokens: 5}); !res.Allowed || res.Parts[0].Granted != 7 || res.Parts[1].Granted != 0 {
		t.Errorf("the call cannot go on: %+v", res)
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Settle, Key: []byte("call"), Tokens: 3}); res.Status != engine.OK || res.Parts[0].Remaining != 97 || res.Parts[1].Granted != 0 || res.Parts[1].Remaining != 0 {
		t.Errorf("settled: %+v", res)
	}
}

// Where there is no room for new keys, penalties count nothing, and deny nobody.
func TestPenaltyWithoutRoom(t *testing.T) {
	for _, mode := range []engine.NewKeys{engine.DenyNew, engine.AllowNew, engine.OverflowNew} {
		s := New(Config{Shards: 1})
		ask(s, epoch, knock(penaltyLimit(1, sec, sec, sec), "held"))
		ask(s, epoch, engine.Op{Verb: engine.Restrict, Key: []byte("p"), NewKeys: mode})
		for range 3 {
			if res := ask(s, epoch, knock(penaltyLimit(1, sec, 60*sec, 60*sec), "p")); res.Status != engine.OK || res.Parts[1].Wait != 0 {
				t.Errorf("mode %d: %+v", mode, res)
			}
		}
		if res := ask(s, epoch, knock(penaltyLimit(1, sec, 60*sec, 60*sec), "held")); res.Status != engine.OK || res.Parts[1].Wait != sec {
			t.Errorf("mode %d, known: %+v", mode, res)
		}
		s.Close()
	}
}

// Penalties whose keys are new count against a quota of keys, each of them.
func TestPenaltiesInQuotas(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "q", Prefixes: []string{"p:"}, MaxKeys: 1}}))
	op, limit := knock(penaltyLimit(1, sec, sec, sec), "p:1"), penaltyLimit(1, sec, sec, sec)
	op.Parts = append(op.Parts, engine.Op{Key: []byte("p:2"), Limit: limit, Tokens: 2})
	if res := ask(s, epoch, op); res.Parts[1].Wait != sec || res.Parts[2].Wait != 0 {
		t.Errorf("%+v", res)
	}
	if n := s.Len(); n != 1 {
		t.Errorf("%d keys", n)
	}
}

// A key that a denied request does not make leaves room in a quota for a penalty.
func TestPenaltyInAQuotaWithANewLimit(t *testing.T) {
	op := knock(penaltyLimit(1, sec, sec, sec), "p:penalty")
	op.Parts[0].Key = []byte("p:closed")
	for i, op := range []engine.Op{op, {Verb: engine.Reserve, Key: []byte("id"), MaxWait: sec, Parts: []engine.Op{op}}} {
		s := New(Config{Shards: 1})
		s.SetQuotas(admission.NewQuotas([]admission.Quota{{Name: "q", Prefixes: []string{"p:"}, MaxKeys: 1}}))
		if res := ask(s, epoch, op); res.Parts[1].Wait != sec || s.Len() != 1 {
			t.Errorf("%d: %+v", i, res)
		}
		s.Close()
	}
}

// A denied request with an id counts once when it is sent again, unless another denial counted in between.
func TestPenaltyOfARepetition(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := penaltyLimit(4, 10*sec, 60*sec, 60*sec)
	with := func(id string) engine.Op {
		return engine.Op{Verb: engine.Reserve, Key: []byte(id), MaxWait: sec, Parts: []engine.Op{knock(limit, "p")}}
	}
	other := with("a")
	other.Parts[0].Tokens, other.Parts[0].Parts[0].Tokens = 3, 3
	for i, step := range []struct {
		op      engine.Op
		at      int64
		counted string
	}{
		{with("a"), 0, "1"}, {with("a"), 9, "1"},
		{with("a"), 10, "1"}, // in the next window
		{with("b"), 10, "2"}, {with("b"), 10, "2"},
		{with("a"), 10, "3"}, // b has counted since
		{other, 20, "1"}, {with("a"), 20, "2"},
		{knock(limit, "p"), 20, "3"}, {with("a"), 20, "0"}, // which begins a ban
		{with("a"), 80, "1"},
	} {
		if res := ask(s, epoch+step.at*sec, step.op); res.Allowed || denialsOf(s, epoch+step.at*sec, "p") != step.counted {
			t.Errorf("step %d: %s count, %+v", i, denialsOf(s, epoch+step.at*sec, "p"), res)
		}
	}
}

// Where the memory is full, a ban that a reply states is kept, and a penalty whose key is new counts nothing.
func TestPenaltyWithoutMemory(t *testing.T) {
	for _, mode := range []engine.NewKeys{engine.DenyNew, engine.AllowNew, engine.OverflowNew} {
		s := growingStore(t, mode, false)
		limit := penaltyLimit(2, 3600*sec, 3600*sec, 3600*sec)
		ask(s, epoch, knock(limit, "known"))
		fillUp(s)
		op := knock(limit, "known")
		for i := range 200 { // so that no shard has room for all
			op.Parts = append(op.Parts[:2], engine.Op{Key: fmt.Appendf(nil, "new:%d", i), Limit: penaltyLimit(1, sec, 7200*sec, 7200*sec), Tokens: 2})
			res := ask(s, epoch, op)
			if known, unknown := res.Parts[1], res.Parts[2]; res.Status != engine.OK || known.Wait == 0 {
				t.Fatalf("mode %d, %d: status %d, known wait %d, other %d", mode, i, res.Status, known.Wait, unknown.Wait)
			} else if look := ask(s, epoch, engine.Op{Verb: engine.Look, Key: op.Parts[2].Key}); (look.Status == engine.OK) != (unknown.Wait > 0) || unknown.Remaining != 0 && unknown.Wait > 0 {
				t.Fatalf("mode %d, %d: states a ban of %d, and then status %d", mode, i, unknown.Wait, look.Status)
			}
		}
	}
}
