package datatype

import (
	"math"
	"testing"
)

func TestStreamIDs(t *testing.T) {
	for _, pair := range [][2]StreamID{
		{{0, 0}, {0, 1}}, {{1, 7}, {1, 8}}, {{1, math.MaxUint64}, {2, 0}}, {MaxStreamID, {}},
	} {
		id, next := pair[0], pair[1]
		if id.Next() != next || next.Previous() != id || id.Less(next) != (id != MaxStreamID) || id.Less(id) {
			t.Errorf("%v and %v", id, next)
		}
		if ReadStreamID(id.Append(nil)) != id {
			t.Errorf("%v is not read", id)
		}
	}
}

// No bytes but those of a stream are valid.
func TestValidStream(t *testing.T) {
	id := func(ms uint64) []byte { return StreamID{Ms: ms}.Append(nil) }
	fields := AppendFields(nil, [][]byte{[]byte("field"), []byte("value")})
	s := NewStream().Add(id(1), fields).Add(id(3), fields)
	s.SetHead(StreamHead{Last: StreamID{Ms: 3}, Added: 2})
	if !ValidStream(s) || !ValidStream(NewStream()) || s.Len() != 2 || s.Head().Added != 2 {
		t.Fatal("a stream is not valid")
	}
	for ms, want := range []int{0, 0, 1, 1, 2} {
		if at, found := s.Place(id(uint64(ms))); at != want || found != (ms == 1 || ms == 3) {
			t.Errorf("the place of %d is %d, %v", ms, at, found)
		}
	}
	head := StreamHead{}.Append(nil)
	for name, words := range map[string][][]byte{
		"nothing":            {},
		"no head":            {id(1), fields},
		"a short head":       {{}, head[1:]},
		"a name alone":       {{}, head, id(1)},
		"a short id":         {{}, head, id(1)[1:], fields},
		"two heads":          {{}, head, {}, head},
		"the same id":        {{}, head, id(1), fields, id(1), fields},
		"the wrong order":    {{}, head, id(2), fields, id(1), fields},
		"no fields":          {{}, head, id(1), {}},
		"a field alone":      {{}, head, id(1), AppendFields(nil, [][]byte{[]byte("field")})},
		"a field cut off":    {{}, head, id(1), fields[:len(fields)-1]},
		"an endless length":  {{}, head, id(1), {0xff}},
		"a length too large": {{}, head, id(1), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}},
	} {
		if ValidStream(sequence(nil).splice(0, 0, words)) {
			t.Errorf("%s is valid", name)
		}
	}
}
