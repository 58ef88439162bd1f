package store

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

// A check with an id is answered as before when its policy has other limits or is gone: granted, binding and wait are
// those of then, and the limits are those that were asked.
func TestRepeatedCheckNeedsNoPolicy(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	set := func(options engine.Option, parts ...engine.Op) {
		ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Options: options, Parts: parts})
	}
	limitsOfThen := []engine.Op{{Key: []byte("a:{}"), Limit: bucket(5, 1, sec)}, {Key: []byte("b:{}"), Limit: bucket(7, 1, sec)}}
	check := func(id string, tokens int64) engine.Op {
		op := engine.Op{Verb: engine.Check, Key: []byte("p"), Who: []byte("7"), Tokens: tokens, MaxWait: 10 * sec}
		return reserveOne(id, op)
	}
	for _, shadow := range []engine.Option{0, engine.Shadow} {
		ask(s, epoch, engine.Op{Verb: engine.Flush})
		set(shadow, limitsOfThen...)
		first := ask(s, epoch, check("id", 6))
		wait := sec
		if shadow != 0 {
			wait = 0
		}
		if !first.Allowed || first.Granted != 6 || first.Wait != wait || len(first.Parts) != 2 {
			t.Fatalf("%+v", first)
		}
		for name, change := range map[string]func(){
			"not changed":  func() { set(shadow, limitsOfThen...) },
			"other limits": func() { set(0, engine.Op{Key: []byte("other"), Limit: bucket(5, 1, sec)}) },
			"a field":      func() { set(engine.NamedFields, engine.Op{Key: []byte("{field}"), Limit: bucket(5, 1, sec)}) },
			"gone":         func() { ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: []byte("p")}) },
		} {
			change()
			before := s.Digest(epoch)
			res := ask(s, epoch, check("id", 6))
			if !res.Allowed || res.Granted != 6 || res.Wait != wait || res.Binding != -1 || len(res.Parts) != 2 || res.Parts[0].Limit != 5 || res.Parts[1].Remaining != 1 || s.Digest(epoch) != before {
				t.Errorf("%s, shadow %d: %+v", name, shadow, res)
			}
		}
		ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: []byte("p")})
		for _, op := range []engine.Op{check("id", 5), check("new", 6)} {
			if res := ask(s, epoch, op); res.Status != engine.NotFound {
				t.Errorf("%+v", res)
			}
		}
		if res := ask(s, epoch+600*sec, check("id", 6)); res.Status != engine.NotFound {
			t.Errorf("expired: %+v", res)
		}
	}
}
