package request

import (
	"fmt"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/policy"
)

const s = time.Second

// bucket is a limit of some tokens, one of which comes back in a second.
func bucket(algorithm limits.Algorithm, capacity int64) limits.Limit {
	return limits.Limit{Algorithm: algorithm, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: int64(s)}}
}

func part(key string, capacity int64) engine.Op {
	return engine.Op{Key: []byte(key), Limit: bucket(limits.TokenBucket, capacity)}
}

// class is a node of a tree, with an assured capacity unless that is 0.
func class(key string, ceiling, assured int64) engine.Op {
	op := engine.Op{Key: []byte(key), Limit: bucket(limits.Class, ceiling)}
	if assured > 0 {
		op.Who = engine.AppendAssured(nil, assured, limits.Rate{Tokens: 1, Period: int64(s)})
	}
	return op
}

func all(tokens int64, parts ...engine.Op) engine.Op {
	for i := range parts {
		parts[i].Tokens = tokens
	}
	return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: parts}
}

func reserve(id string, request engine.Op) engine.Op {
	return engine.Op{Verb: engine.Reserve, Key: []byte(id), MaxWait: int64(60 * s), Parts: []engine.Op{request}}
}

func settle(id string, tokens int64, options engine.Option) engine.Op {
	return engine.Op{Verb: engine.Settle, Key: []byte(id), Tokens: tokens, Options: options}
}

func extend(id string, nth uint32, tokens int64, options engine.Option) engine.Op {
	return engine.Op{Verb: engine.Extend, Key: []byte(id), Nth: nth, Tokens: tokens, Options: options}
}

// step is a request at a time after the first one, and what its answer says.
type step struct {
	at   time.Duration
	op   engine.Op
	want string
}

// testSteps carries out requests, one after the other, on an empty keyspace. Each is asked before whether it would
// change something: if it would not, it is answered alike.
func testSteps(t *testing.T, policies []engine.Op, steps []step) {
	t.Helper()
	const began = 1_700_000_000 * int64(time.Second)
	var keys keyspace.Keyspace
	keys.Init(keyspace.Config{Shards: 4})
	defer keys.Close()
	known := policy.New(keys.JournalNotes())
	for i := range policies {
		var res engine.Result
		if known.Set(&policies[i], &res); res.Status != engine.OK {
			t.Fatalf("policy %d: status %d", i, res.Status)
		}
	}
	r := New(&keys, known, nil)
	for i := range steps {
		now, op := began+int64(steps[i].at), &steps[i].op
		var before, res engine.Result
		answered := r.Apply(now, op, &before, false, true)
		r.Apply(now, op, &res, false, false)
		got := show(&res)
		if got != steps[i].want {
			t.Errorf("step %d, after %v: %s; want %s", i, steps[i].at, got, steps[i].want)
		}
		if answered && show(&before) != got {
			t.Errorf("step %d: answered with %s without a change", i, show(&before))
		}
	}
}

func show(res *engine.Result) (text string) {
	switch {
	case res.Status != engine.OK:
		return fmt.Sprintf("status %d", res.Status)
	case res.Allowed && res.Number == engine.Repeated:
		text = "again, "
	case res.Allowed:
		text = "granted, "
	default:
		text = fmt.Sprintf("denied by %d, wait %v, ", res.Binding, time.Duration(res.Wait))
	}
	for i := range res.Parts {
		text += fmt.Sprintf("%d ", res.Parts[i].Remaining)
	}
	return text + "left"
}

// A request takes tokens from all of its limits or from none.
func TestAcquireAll(t *testing.T) {
	testSteps(t, nil, []step{
		{0, all(2, part("a", 5), part("b", 3)), "granted, 3 1 left"},
		{0, all(2, part("a", 5), part("b", 3)), "denied by 1, wait 1s, 3 1 left"},
		{0, all(1, part("b", 3), part("a", 5)), "granted, 0 2 left"},
		{0, all(3, part("a", 5), part("b", 3)), "denied by 1, wait 3s, 2 0 left"}, // the longest wait
		{3 * s, all(3, part("a", 5), part("b", 3)), "granted, 2 0 left"},
		{3 * s, all(1, part("a", 5), part("a", 5)), fmt.Sprintf("status %d", engine.DuplicateKey)},
		{3 * s, all(1, part("a", 5), engine.Op{Key: []byte("b"), Limit: bucket(limits.GCRA, 3)}), fmt.Sprintf("status %d", engine.WrongType)},
	})
}

// A check asks the limits of a policy, with the caller filled in. In shadow it denies nobody.
func TestCheck(t *testing.T) {
	set := func(name string, options engine.Option, parts ...engine.Op) engine.Op {
		return engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Options: options, Parts: parts}
	}
	check := func(name, who string, tokens int64) engine.Op {
		return engine.Op{Verb: engine.Check, Key: []byte(name), Who: []byte(who), Tokens: tokens}
	}
	testSteps(t, []engine.Op{
		set("api", 0, part("user:{}", 2), part("everyone", 3)),
		set("trial", engine.Shadow, part("trial:{}", 1)),
	}, []step{
		{0, check("api", "ann", 2), "granted, 0 1 left"},
		{0, check("api", "ann", 1), "denied by 0, wait 1s, 0 1 left"},
		{0, check("api", "bob", 1), "granted, 1 0 left"},
		{0, check("api", "bob", 1), "denied by 1, wait 1s, 1 0 left"},
		{0, check("trial", "ann", 1), "granted, 0 left"},
		{0, check("trial", "ann", 1), "granted, 0 left"},
		{0, check("none", "ann", 1), fmt.Sprintf("status %d", engine.NotFound)},
	})
}

// A class borrows what its siblings are not assured, and always gets what it is assured itself.
func TestTree(t *testing.T) {
	ask := func(tokens int64, key string, assured int64) engine.Op {
		root := class("root", 10, 0)
		root.Limit.Rate.Tokens = 2 // as fast as both classes together
		return all(tokens, class(key, 10, assured), root)
	}
	testSteps(t, nil, []step{
		{0, ask(6, "a", 3), "granted, 3 4 left"},                     // of the seven that are not assured
		{0, ask(1, "b", 4), "granted, 0 3 left"},                     // it begins with one, as three of the four left are assured to a
		{0, ask(1, "a", 3), "granted, 2 2 left"},                     // of its own
		{4 * s, ask(4, "b", 4), "granted, 0 6 left"},                 // all of its own
		{4 * s, ask(4, "a", 3), "denied by 0, wait 10m6s, 3 6 left"}, // never while both are registered
		{4 * s, ask(3, "a", 3), "granted, 0 3 left"},
		{4 * s, ask(11, "a", 3), "denied by 0, wait -1ns, 0 3 left"}, // never
		{10*time.Minute + 30*s, ask(7, "a", 3), "granted, 3 3 left"}, // b's registration is over
	})
}

// A reservation takes its tokens once, whatever comes again, and is settled once.
func TestReservations(t *testing.T) {
	request := all(3, part("a", 5), part("b", 9))
	testSteps(t, nil, []step{
		{0, reserve("one", request), "granted, 2 6 left"},
		{0, reserve("one", request), "again, 2 6 left"},
		{0, reserve("one", all(4, part("a", 5), part("b", 9))), fmt.Sprintf("status %d", engine.ReservationDiffers)},
		{0, reserve("two", request), "denied by 0, wait 1s, 2 6 left"},
		{0, settle("two", 1, 0), fmt.Sprintf("status %d", engine.NotFound)},
		{0, settle("one", 1, 0), "granted, 4 8 left"}, // two go back
		{0, settle("one", 1, 0), "granted, 4 8 left"},
		{0, settle("one", 2, 0), fmt.Sprintf("status %d", engine.SettledOtherwise)},
		{0, reserve("two", request), "granted, 1 5 left"},
		{0, settle("two", 5, 0), "granted, -1 3 left"}, // more was used than there was
		{10 * s, reserve("three", request), "granted, 2 6 left"},
		{10 * s, settle("three", 0, engine.Cancel), "granted, 5 9 left"},
		{71 * s, settle("one", 1, 0), fmt.Sprintf("status %d", engine.NotFound)},
	})
}

// An extension takes more from all limits that have no cost, once for each number. A settlement is of all of it.
func TestExtensions(t *testing.T) {
	request := all(3, part("a", 9), part("b", 20))
	request.Parts = append(request.Parts, engine.Op{Key: []byte("calls"), Limit: bucket(limits.TokenBucket, 5), Tokens: 1, Options: engine.FixedCost},
		engine.Op{Key: []byte("places"), Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: 1, Rate: limits.Rate{Period: int64(30 * s)}}, Who: []byte("me"), Tokens: 3})
	status := func(s engine.Status) string { return fmt.Sprintf("status %d", s) }
	again := extend("one", 1, 2, 0)
	again.MaxWait = int64(time.Hour)
	testSteps(t, nil, []step{
		{0, extend("one", 1, 2, 0), status(engine.NotFound)},
		{0, reserve("one", request), "granted, 6 17 4 0 left"},
		{0, extend("one", 2, 2, 0), status(engine.NotNext)},
		{0, extend("one", 1, 2, 0), "granted, 4 15 4 0 left"},
		{0, again, "granted, 4 15 4 0 left"},
		{0, extend("one", 1, 7, engine.UpTo), "granted, 4 15 4 0 left"},
		{0, extend("one", 3, 2, 0), status(engine.NotNext)},
		{0, extend("one", 2, 5, 0), "denied by 0, wait 1s, 4 15 4 0 left"},
		{0, extend("one", 2, 5, engine.UpTo), "granted, 0 11 4 0 left"},
		{0, extend("one", 3, 1, engine.UpTo), "denied by 0, wait 1s, 0 11 4 0 left"},
		{0, extend("one", 3, 10, 0), "denied by 0, wait -1ns, 0 11 4 0 left"},
		{0, reserve("one", request), "again, 0 11 4 0 left"},
		{0, settle("one", 5, 0), "granted, 4 15 4 1 left"}, // of nine
		{0, settle("one", 5, 0), "granted, 4 15 4 1 left"},
		{0, settle("one", 6, 0), status(engine.SettledOtherwise)},
		{0, extend("one", 2, 5, engine.UpTo), status(engine.AlreadySettled)},
		{0, extend("one", 3, 1, 0), status(engine.AlreadySettled)},
		{61 * s, reserve("two", request), "granted, 6 17 4 0 left"},
		{62 * s, extend("two", 1, 1, 0), "granted, 6 17 5 0 left"},
		{100 * s, extend("two", 2, 1, 0), "granted, 8 19 5 0 left"}, // the lease had ended, and begins anew
		{100 * s, settle("two", 7, 0), "granted, 6 17 5 1 left"},    // more than the five that were reserved
		{100 * s, reserve("three", request), "granted, 3 14 4 0 left"},
		{100 * s, extend("three", 1, 3, 0), "granted, 0 11 4 0 left"},
		{100 * s, settle("three", 0, engine.Cancel), "granted, 6 17 5 1 left"},
	})
}

// With FOR, a reservation is remembered for longer, and never for less long.
func TestExtensionsRememberLonger(t *testing.T) {
	long, short := extend("one", 1, 1, 0), extend("one", 2, 1, 0)
	long.MaxWait, short.MaxWait = int64(100*s), int64(s)
	testSteps(t, nil, []step{
		{0, reserve("one", all(1, part("a", 5))), "granted, 4 left"},
		{50 * s, long, "granted, 4 left"},
		{50 * s, short, "granted, 3 left"},
		{149 * s, settle("one", 3, 0), "granted, 5 left"},
		{151 * s, settle("one", 3, 0), fmt.Sprintf("status %d", engine.NotFound)},
	})
}
