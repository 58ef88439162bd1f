package purses

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
)

func TestSeveralKeysAllOrNothing(t *testing.T) {
	table := newTable()
	parts := []engine.Op{*acquire("a", 2), *acquire("b", 3)}
	res := engine.Result{Parts: make([]engine.Result, 2)}
	var due []*Operation
	for range 2 * (hotAfter + 1) {
		_, more := table.SpendAll(0, 0, parts, false, &res, nil)
		due = append(due, more...)
	}
	if len(due) != 2 {
		t.Fatalf("%d operations are due", len(due))
	}
	table.Hear(0, 0, due[0], lent(due[0], 10), true)
	if done, _ := table.SpendAll(0, 0, parts, false, &res, nil); done || table.Held() != 10 {
		t.Error("granted from one of two keys")
	}
	table.Hear(0, 0, due[1], lent(due[1], 4), true)
	if done, _ := table.SpendAll(0, 0, parts, false, &res, nil); !done || table.Held() != 9 {
		t.Errorf("%v, %d held", done, table.Held())
	}
	if done, _ := table.SpendAll(0, 0, parts, false, &res, nil); done || table.Held() != 9 {
		t.Errorf("%v, %d held", done, table.Held())
	}
}

// elsewhere has tokens of keys that are not held, and takes them as the table asks.
type elsewhere struct {
	table  *Table // whose keys must be locked meanwhile, if not nil
	tokens map[string]int64
	parts  []engine.Op
	asked  engine.PartSet // the parts held when it was asked last
}

// isFree reports whether nobody has locked a key.
func (t *Table) isFree(key []byte) bool {
	s, _ := t.of(key)
	free := s.mu.TryLock()
	if free {
		s.mu.Unlock()
	}
	return free
}

func (e *elsewhere) take(res *engine.Result) func(held engine.PartSet) (missing engine.PartSet) {
	return func(held engine.PartSet) (missing engine.PartSet) {
		e.asked = held
		for i := range e.parts {
			if e.table != nil && e.table.isFree(e.parts[i].Key) {
				panic("a key is not locked")
			}
			if p := &e.parts[i]; !held.Has(i) && e.tokens[string(p.Key)] < p.Tokens {
				missing.Add(i)
			}
		}
		if missing != 0 {
			return missing
		}
		res.Clear()
		res.Grow(len(e.parts))
		for i := range e.parts {
			res.Parts[i].Clear()
			if p := &e.parts[i]; !held.Has(i) && p.Options&engine.Peek == 0 {
				e.tokens[string(p.Key)] -= p.Tokens
				res.Parts[i].Granted = p.Tokens
			}
		}
		return 0
	}
}

// Of a key in demand tokens are held, those of another are taken elsewhere: of both or of none.
func TestTokensHeldAndElsewhere(t *testing.T) {
	table := newTable()
	o := warm(t, table, 0, "all")
	table.Hear(0, 0, o, lent(o, 20), true)
	other := &elsewhere{table: table, tokens: map[string]int64{"user": 4}, parts: []engine.Op{*acquire("user", 2), *acquire("all", 2)}}
	var res engine.Result
	ask := func(peek bool, wantDone bool, wantHeld, wantElsewhere int64) {
		t.Helper()
		done, _ := table.SpendAll(0, 0, other.parts, peek, &res, other.take(&res))
		if done != wantDone || table.Held() != wantHeld || other.tokens["user"] != wantElsewhere {
			t.Errorf("done %v, %d held, %d elsewhere", done, table.Held(), other.tokens["user"])
		}
	}
	if ask(false, true, 18, 2); other.asked != 0b10 || len(res.Parts) != 2 || res.Parts[0].Granted != 2 || res.Parts[1].Granted != 2 || res.Parts[1].Limit != limit.Capacity {
		t.Errorf("held %b, %+v", other.asked, res)
	}
	other.tokens["user"] = 1
	ask(false, false, 18, 1) // too little elsewhere
	other.tokens["user"] = 9
	other.parts[1].Tokens = 19
	ask(false, false, 18, 9) // too little held
	for i := range other.parts {
		other.parts[i].Tokens, other.parts[i].Options = 2, engine.Peek
	}
	ask(true, true, 18, 9)
}

// A request that finds too little counts for the keys that lack tokens alone, and not for those that are held or
// elsewhere.
func TestDemandOfWhatIsMissing(t *testing.T) {
	table := newTable()
	other := &elsewhere{tokens: map[string]int64{"user": 100}, parts: []engine.Op{*acquire("user", 1), *acquire("all", 1)}}
	var res engine.Result
	var due []*Operation
	for range hotAfter + 1 {
		done, more := table.SpendAll(0, 0, other.parts, false, &res, other.take(&res))
		if done {
			t.Fatal("granted from nothing")
		}
		due = append(due, more...)
	}
	if len(due) != 1 || due[0].Key != "all" || table.Keys() != 1 || other.tokens["user"] != 100 {
		t.Fatalf("%d are due, %d keys, %d elsewhere", len(due), table.Keys(), other.tokens["user"])
	}
	table.Hear(0, 0, due[0], lent(due[0], 10), true)
	if done, _ := table.SpendAll(time.Millisecond, 0, other.parts, false, &res, other.take(&res)); !done || table.Held() != 9 || other.tokens["user"] != 99 {
		t.Errorf("%v, %d held, %d elsewhere", done, table.Held(), other.tokens["user"])
	}
	other.parts = []engine.Op{*acquire("all", 1), *acquire("all", 1)}
	if done, _ := table.SpendAll(time.Millisecond, 0, other.parts, false, &res, other.take(&res)); done || table.Held() != 9 {
		t.Error("one key was taken twice")
	}
	changed := []engine.Op{*acquire("user", 1), *acquire("all", 1)}
	changed[1].Limit.Capacity++
	other.parts = changed
	if done, _ := table.SpendAll(time.Millisecond, 0, changed, false, &res, other.take(&res)); done || table.Held() != 9 {
		t.Error("tokens were spent under another limit")
	}
}
