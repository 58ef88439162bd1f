package rafttransport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// leftOut are the fields that Raft keeps for its own older versions: the header has the same.
var leftOut = []string{"Leader", "Candidate", "Peers"}

// fill gives every field of a message a different value that is not zero, except for the fields left out.
func fill(v reflect.Value, next *byte) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000, int64(*next))))
			return
		}
		for i := range v.NumField() {
			if !slices.Contains(leftOut, v.Type().Field(i).Name) {
				fill(v.Field(i), next)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(v.Index(i), next)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*next))
	default:
		panic("a field of a kind that Raft's messages did not have: " + v.Type().String())
	}
}

// pairs are all questions with their answers.
var pairs = map[byte][2]any{
	kindAppendEntries: {new(raft.AppendEntriesRequest), new(raft.AppendEntriesResponse)},
	kindRequestVote:   {new(raft.RequestVoteRequest), new(raft.RequestVoteResponse)},
	kindPreVote:       {new(raft.RequestPreVoteRequest), new(raft.RequestPreVoteResponse)},
	kindTimeoutNow:    {new(raft.TimeoutNowRequest), new(raft.TimeoutNowResponse)},
	kindSnapshot:      {new(raft.InstallSnapshotRequest), new(raft.InstallSnapshotResponse)},
}

// Every field of Raft's messages arrives, also fields that a later version of Raft adds.
func TestEveryFieldArrives(t *testing.T) {
	for kind, pair := range pairs {
		for _, filled := range []bool{false, true} {
			question, answer := reflect.New(reflect.TypeOf(pair[0]).Elem()), reflect.New(reflect.TypeOf(pair[1]).Elem())
			if next := byte(0); filled {
				fill(question.Elem(), &next)
				fill(answer.Elem(), &next)
			}
			h, q, err := readQuestion(appendQuestion(nil, head{kind, 7, 1 << 40, "b#1"}, question.Interface()))
			if err != nil || h != (head{kind, 7, 1 << 40, "b#1"}) || !reflect.DeepEqual(q, question.Interface()) {
				t.Errorf("%+v, %+v (%v); sent %+v", h, q, err, question.Interface())
			}
			a := reflect.New(answer.Type().Elem())
			if refused, err := readAnswer(appendAnswer(nil, 9, nil, answer.Interface()), 9, a.Interface()); err != nil ||
				refused != nil || !reflect.DeepEqual(a.Interface(), answer.Interface()) {
				t.Errorf("%+v (%v, %v); sent %+v", a.Interface(), refused, err, answer.Interface())
			}
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	var a raft.RequestVoteResponse
	refused, err := readAnswer(appendAnswer(nil, 9, errors.New("no"), nil), 9, &a)
	if err != nil || refused == nil || refused.Error() != "no" {
		t.Errorf("refused: %v, %v", refused, err)
	}
	whole := appendAnswer(nil, 9, nil, &a)
	for name, frame := range map[string][]byte{
		"of another question": appendAnswer(nil, 8, nil, &a), "cut off": whole[:len(whole)-1],
		"longer": append(slices.Clone(whole), 0), "empty": nil,
	} {
		if _, err := readAnswer(frame, 9, &a); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A message takes memory for the entries that are in it, not for the number that it claims.
func TestEntriesAreBelievedAsTheyCome(t *testing.T) {
	frame := appendQuestion(nil, head{kind: kindAppendEntries}, &entries)
	one := len(frame) - len(appendQuestion(nil, head{kind: kindAppendEntries}, &raft.AppendEntriesRequest{RPCHeader: ofA}))
	binary.LittleEndian.PutUint32(frame[len(frame)-one-4:], 1<<20)
	if _, _, err := readQuestion(frame); err == nil || !strings.Contains(err.Error(), "1048576 entries in 37 bytes") {
		t.Errorf("1048576 entries in %d bytes: %v", one, err)
	}
}

// FuzzQuestion reads arbitrary frames. A frame that reads is written as it was.
func FuzzQuestion(f *testing.F) {
	for kind, pair := range pairs {
		next, question := byte(0), reflect.New(reflect.TypeOf(pair[0]).Elem())
		fill(question.Elem(), &next)
		f.Add(appendQuestion(nil, head{kind: kind, id: 1}, question.Interface()))
	}
	f.Add([]byte{kindAppendEntries, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, question, err := readQuestion(frame)
		if err != nil {
			return
		}
		if q, isEntries := question.(*raft.AppendEntriesRequest); isEntries && len(q.Entries) > len(frame)/minEntryBytes {
			t.Fatalf("%d entries in %d bytes", len(q.Entries), len(frame))
		}
		if again := appendQuestion(nil, h, question); !bytes.Equal(again, frame) {
			t.Errorf("read from %x, written as %x", frame, again)
		}
	})
}

// FuzzAnswer reads arbitrary answers.
func FuzzAnswer(f *testing.F) {
	for kind, pair := range pairs {
		next, answer := byte(0), reflect.New(reflect.TypeOf(pair[1]).Elem())
		fill(answer.Elem(), &next)
		f.Add(kind, appendAnswer(nil, 1, nil, answer.Interface()))
	}
	f.Fuzz(func(t *testing.T, kind byte, frame []byte) {
		pair, isKnown := pairs[kind]
		if !isKnown {
			return
		}
		answer := reflect.New(reflect.TypeOf(pair[1]).Elem()).Interface()
		refused, err := readAnswer(frame, 1, answer)
		if err != nil {
			return
		}
		if again := appendAnswer(nil, 1, refused, answer); !bytes.Equal(again, frame) {
			t.Errorf("read from %x, written as %x", frame, again)
		}
	})
}

func TestEntriesOfOneMessage(t *testing.T) {
	entry := func(bytes int) *raft.Log { return &raft.Log{Data: make([]byte, bytes)} }
	for _, c := range []struct {
		entries []*raft.Log
		want    int
	}{
		{nil, 0},
		{[]*raft.Log{entry(2 * maxEntriesBytes)}, 1},
		{[]*raft.Log{entry(2 * maxEntriesBytes), entry(1)}, 1},
		{[]*raft.Log{entry(maxEntriesBytes / 2), entry(maxEntriesBytes / 4), entry(maxEntriesBytes)}, 2},
		{[]*raft.Log{entry(10), entry(0), entry(10)}, 3},
	} {
		if got := len(Fitting(c.entries, maxEntriesBytes)); got != c.want {
			t.Errorf("%d of %d entries fit, not %d", got, len(c.entries), c.want)
		}
	}
}

// Raft sends one message to several nodes at a time, so writing it changes nothing. The race detector sees if it does.
func TestMessagesAreSentAtOnce(t *testing.T) {
	for kind, pair := range pairs {
		for _, message := range pair {
			fill(reflect.ValueOf(message).Elem(), new(byte))
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					messageFields(&fields{writes: true}, message)
				})
			}
			all.Wait()
		}
		if len(appendQuestion(nil, head{kind: kind}, pair[0])) == 0 {
			t.Errorf("kind %d is not written", kind)
		}
	}
}
