package recent

import (
	"fmt"
	"testing"
	"time"
	"unsafe"
)

const second = int64(time.Second)

func TestRequestsComeBackAsTheyWere(t *testing.T) {
	r := NewRecord()
	fields := [][]byte{[]byte("tenant"), []byte("acme"), []byte("model"), {}}
	r.Note([]byte("p"), []byte("before"), nil, second, 1, false)
	r.Note([]byte("p"), []byte("a"), fields, 200*second, 3, true)
	r.Note([]byte("p"), nil, nil, 200*second+7, 1<<60, false)
	r.Note([]byte("other"), []byte("b"), nil, 201*second, 1, false)
	r.Note([]byte("p"), make([]byte, maxRequest), nil, 202*second, 1, false)
	for _, tc := range []struct {
		now   int64
		count int
		from  int64
	}{{203 * second, 3, second}, {400 * second, 2, 100 * second}, {1000 * second, 0, 700 * second}} {
		got := r.Requests("p", tc.now)
		if len(got.All) != tc.count || got.From != tc.from || got.OneIn != 1 || got.LeftOut != 1 {
			t.Errorf("at %d: %d requests from %d, one in %d, %d left out", tc.now/second, len(got.All), got.From, got.OneIn, got.LeftOut)
		}
	}
	got := r.Requests("p", 400*second).All
	if q := got[0]; fmt.Sprintf("%d %d %v %s %s", q.At, q.Tokens, q.Denied, q.ID, q.Fields) != "200000000000 3 true a [tenant acme model ]" {
		t.Errorf("%+v", q)
	}
	if q := got[1]; q.At != 200*second+7 || q.Tokens != 1<<60 || q.Denied || len(q.ID) != 0 || q.Fields != nil {
		t.Errorf("%+v", q)
	}
	if got := r.Requests("none", 9); got.From != 9 || got.All != nil {
		t.Errorf("a policy without a record: %+v", got)
	}
}

// complete checks that a record has every request, from its beginning on, of the callers that it has. Caller i makes
// requests numbered by their tokens.
func complete(t *testing.T, l Requests, asked map[string][]int64) (callers int) {
	t.Helper()
	next := map[string]int{}
	for _, q := range l.All {
		id := string(q.ID)
		at, seen := next[id]
		if !seen {
			for at < len(asked[id]) && asked[id][at] < l.From {
				at++
			}
		}
		if at >= len(asked[id]) || asked[id][at] != q.At {
			t.Fatalf("%s: a request at %d is recorded, and number %d of %d was made", id, q.At, at, len(asked[id]))
		}
		next[id] = at + 1
	}
	for id, n := range next {
		if n != len(asked[id]) {
			t.Fatalf("%s: %d requests are recorded to the end, of %d", id, n, len(asked[id]))
		}
	}
	return len(next)
}

// The record stays in its bounds under any load, and has all requests of the callers that it has: a part of many
// callers, and a shorter time if there are few.
func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		name              string
		callers, requests int
		whole             bool // the window is
	}{{"all fit", 500, 20_000, true}, {"many callers", 5_000, 400_000, true}, {"few callers", 20, 400_000, false}, {"one caller", 1, 200_000, false}} {
		r, asked := NewRecord(), map[string][]int64{}
		for i := range tc.requests {
			now := second + int64(i)*int64(Window)/int64(tc.requests)
			id := fmt.Sprintf("caller-%d", i*7919%tc.callers)
			asked[id] = append(asked[id], now)
			r.Note([]byte("p"), []byte(id), nil, now, 1, i%3 == 0)
		}
		of := (*r.policies.Load())["p"]
		if len(of.chunks) > maxChunks || unsafe.Sizeof(chunk{}) > 32<<10 {
			t.Errorf("%s: %d chunks of %d bytes", tc.name, len(of.chunks), unsafe.Sizeof(chunk{}))
		}
		l := r.Requests("p", int64(Window))
		found := complete(t, l, asked)
		if whole := l.From <= second; whole != tc.whole {
			t.Errorf("%s: recorded from second %d on", tc.name, l.From/second)
		}
		want := tc.callers / int(l.OneIn)
		if found < want/2 || found > want*2 || tc.whole && len(l.All) < 10_000 {
			t.Errorf("%s: %d requests of %d callers, one in %d of %d", tc.name, len(l.All), found, l.OneIn, tc.callers)
		}
		t.Logf("%s: %d requests of %d callers, one in %d, within %d s", tc.name, len(l.All), found, l.OneIn, (int64(Window)-l.From)/second)
	}
}

// When less comes, more callers are recorded again; a list of the window still has those only that are whole.
func TestMoreCallersAgain(t *testing.T) {
	r, asked, now := NewRecord(), map[string][]int64{}, second
	round := func(requests int, step int64) {
		for i := range requests {
			now += step
			id := fmt.Sprintf("caller-%d", i%2_000)
			asked[id] = append(asked[id], now)
			r.Note([]byte("p"), []byte(id), nil, now, 1, false)
		}
	}
	round(300_000, int64(time.Millisecond))
	busy := r.Requests("p", now)
	complete(t, busy, asked)
	for range 30 {
		round(20_000, 10*int64(time.Millisecond))
		complete(t, r.Requests("p", now), asked)
	}
	if quiet := r.Requests("p", now); busy.OneIn < 4 || quiet.OneIn >= busy.OneIn {
		t.Errorf("one caller in %d was recorded, and later one in %d", busy.OneIn, quiet.OneIn)
	}
}

// A policy that nobody asks gives way to others, and until then the first are recorded.
func TestPolicies(t *testing.T) {
	r := NewRecord()
	for i := range MaxPolicies + 5 {
		r.Note(fmt.Append(nil, "p", i), []byte("a"), nil, second, 1, false)
	}
	if n := len(r.Policies()); n != MaxPolicies || len(r.Requests("p0", second).All) != 1 || len(r.Requests(fmt.Sprint("p", MaxPolicies), second).All) != 0 {
		t.Errorf("%d policies", n)
	}
	later := 2*second + int64(Window)
	r.Note([]byte("p0"), []byte("a"), nil, later, 1, false)
	r.Note([]byte("new"), []byte("a"), nil, later, 1, false)
	if names := r.Policies(); len(names) != 2 || len(r.Requests("new", later).All) != 1 {
		t.Errorf("%v", names)
	}
}

func BenchmarkNote(b *testing.B) {
	for _, callers := range []int{100, 100_000} {
		b.Run(fmt.Sprint(callers, " callers"), func(b *testing.B) {
			r, ids := NewRecord(), make([][]byte, callers)
			for i := range ids {
				ids[i] = fmt.Append(nil, "caller-", i)
			}
			policy := []byte("api")
			b.ReportAllocs()
			for i := range b.N {
				r.Note(policy, ids[i%callers], nil, int64(i)*1000, 1, false)
			}
		})
	}
}
