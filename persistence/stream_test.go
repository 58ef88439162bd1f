package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// busyStore is a store with keys of every algorithm, policies, and limiters that new keys share.
func busyStore(r *rand.Rand, keys int) *store.Store {
	s := store.New(store.Config{Shards: 4})
	for i := range 3 * keys {
		apply(s, someTime+int64(i), randomTake(r, keys))
	}
	for _, op := range s.Pressure(admission.Rules{NewKeys: engine.OverflowNew, Delimiters: ":"}, true) {
		apply(s, someTime, op)
	}
	for i, limit := range tokenLimits {
		apply(s, someTime, engine.Op{Key: fmt.Appendf(nil, "new:%d", i), Limit: limit, Tokens: 1, Who: []byte("w")})
	}
	part := []engine.Op{{Key: []byte("user:{}"), Limit: tokenLimits[0]}}
	for _, name := range []string{"a", "b"} {
		apply(s, someTime, engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Parts: part, Options: engine.Shadow})
		apply(s, someTime, engine.Op{Verb: engine.SetOverride, Key: []byte(name), Who: []byte("vip"), Parts: part})
	}
	return s
}

func apply(s *store.Store, now int64, op engine.Op) {
	s.Apply(now, []engine.Op{op}, make([]engine.Result, 1))
}

func randomTake(r *rand.Rand, keys int) engine.Op {
	n := r.IntN(keys)
	return engine.Op{Key: fmt.Appendf(nil, "key-%d", n), Limit: tokenLimits[n%len(tokenLimits)], Tokens: 1, Who: fmt.Appendf(nil, "w%d", r.IntN(9))}
}

func writeState(t testing.TB, s *store.Store, now int64) []byte {
	t.Helper()
	var b bytes.Buffer
	f := s.Snapshot()
	defer f.Release()
	states, size, err := WriteState(&b, f, now)
	if err != nil || size != int64(b.Len()) || states < 1 {
		t.Fatal(states, size, b.Len(), err)
	}
	return b.Bytes()
}

// busyWriter changes the store at every write.
type busyWriter struct {
	bytes.Buffer
	change func()
}

func (w *busyWriter) Write(b []byte) (int, error) {
	w.change()
	return w.Buffer.Write(b)
}

// A state is read as it was when it was frozen, independent of decisions during the write and of the sizes of the
// reads.
func TestStateIsReadAsItWasFrozen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, keys := range []int{20, 20_000} {
		s, now := busyStore(r, keys), someTime+int64(3*keys)
		want := s.Digest(now)
		if s.NewKeyCounts().Limiters < len(tokenLimits)/2 {
			t.Errorf("%d shared limiters", s.NewKeyCounts().Limiters)
		}
		f := s.Snapshot()
		w := &busyWriter{change: func() {
			for range 100 {
				apply(s, now, randomTake(r, keys))
			}
			apply(s, now, engine.Op{Verb: engine.DropPolicy, Key: []byte("a")})
		}}
		states, _, err := WriteState(w, f, now)
		f.Release()
		if err != nil || s.Digest(now) == want {
			t.Fatalf("%v; the store has not changed: %t", err, s.Digest(now) == want)
		}
		for name, in := range map[string]io.Reader{
			"whole":        bytes.NewReader(w.Bytes()),
			"byte by byte": iotest.OneByteReader(bytes.NewReader(w.Bytes())),
		} {
			again := store.New(store.Config{Shards: 16})
			at, read, err := ReadState(in, again, 0)
			if err != nil || at != now || read != states || again.Digest(now) != want {
				t.Errorf("%d keys, %s: %v, time %d, %d states of %d", keys, name, err, at-now, read, states)
			}
			again.Close()
		}
		s.Close()
	}
}

// Entries that have expired at the time of the read are left out.
func TestStateIsReadAtATime(t *testing.T) {
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	apply(s, someTime, engine.Op{Key: []byte("k"), Limit: tokenLimits[0], Tokens: 1})
	data := writeState(t, s, someTime)
	late := store.New(store.Config{Shards: 1})
	defer late.Close()
	if at, states, err := ReadState(bytes.NewReader(data), late, someTime+1<<60); err != nil || at != someTime || states != 1 || late.Len() != 0 {
		t.Errorf("%v, time %d, %d states, %d keys", err, at, states, late.Len())
	}
}

// After any change of a byte, a cut, an addition or a failure half-way, the state is right or there is an error with
// the offset.
func TestDamagedStateIsRefused(t *testing.T) {
	s := busyStore(rand.New(rand.NewPCG(1, 2)), 12)
	defer s.Close()
	now := someTime + 40
	data, want := writeState(t, s, now), s.Digest(now)
	all := harms(data)
	for _, more := range [][]byte{{0}, make([]byte, disk.BlockAlign), data} {
		all = append(all, harm{fmt.Sprintf("%d bytes more", len(more)), len(data), append(bytes.Clone(data), more...)})
	}
	refused := 0
	for _, h := range all {
		again := store.New(store.Config{Shards: 1})
		_, _, err := ReadState(bytes.NewReader(h.data), again, 0)
		damage, isDamage := errors.AsType[*disk.DamageError](err)
		switch {
		case err == nil && again.Digest(now) != want:
			t.Fatalf("%s: not noticed", h.what)
		case err != nil && (!isDamage || damage.Offset > int64(h.offset)):
			t.Fatalf("%s: %v", h.what, err)
		case err != nil:
			refused++
		case len(h.data) != len(data):
			t.Fatalf("%s: taken for whole", h.what)
		}
		again.Close()
	}
	if refused < len(all)/2 {
		t.Errorf("%d of %d were refused", refused, len(all))
	}
}

// A stream with correct checksums that WriteState could not have written is refused too.
func TestForeignStateIsRefused(t *testing.T) {
	s := busyStore(rand.New(rand.NewPCG(1, 3)), 12)
	defer s.Close()
	data := writeState(t, s, someTime)
	newer := bytes.Clone(data)
	newer[8]++
	journal := append(disk.JournalHeader(0, disk.Predecessor{}, 0, 0), data[disk.HeaderBytes:]...)
	block := func(fill func(e *encoder)) []byte {
		w := &blockWriter{to: new(bytes.Buffer), rest: func() {}}
		w.write(disk.Header(disk.SnapshotMagic, 0, 1))
		w.enc.start(someTime)
		fill(&w.enc)
		w.flush(someTime)
		return w.to.(*bytes.Buffer).Bytes()
	}
	for name, in := range map[string]struct {
		data []byte
		err  error
	}{
		"a newer version":         {testdisk.Resum(newer), disk.ErrNewer},
		"a journal":               {journal, disk.ErrNotOurs},
		"nothing":                 {nil, disk.ErrNotOurs},
		"no end":                  {block(func(*encoder) {}), disk.ErrCutShort},
		"fewer than it ends with": {block(func(e *encoder) { e.end(5) }), disk.ErrDamaged},
		"a deletion": {block(func(e *encoder) {
			e.change(keyspace.Change{Kind: keyspace.Deleted, Entry: keyspace.Entry{Key: []byte("k")}})
			e.end(0)
		}), disk.ErrDamaged},
	} {
		again := store.New(store.Config{Shards: 1})
		_, _, err := ReadState(bytes.NewReader(in.data), again, 0)
		if _, isDamage := errors.AsType[*disk.DamageError](err); !isDamage || !errors.Is(err, in.err) {
			t.Errorf("%s: %v", name, err)
		}
		again.Close()
	}
	small := store.New(store.Config{Shards: 1, MaxBytes: 1000})
	defer small.Close()
	if _, _, err := ReadState(bytes.NewReader(data), small, 0); !errors.Is(err, keyspace.ErrNoRoom) {
		t.Errorf("without room: %v", err)
	}
}

// An error of the writer, or of the reader, is passed on.
func TestStateErrorsAreReported(t *testing.T) {
	s := busyStore(rand.New(rand.NewPCG(1, 4)), 5000)
	defer s.Close()
	data, broken := writeState(t, s, someTime), errors.New("broken")
	for _, most := range []int{0, 1000, 100_000} {
		f := s.Snapshot()
		if _, _, err := WriteState(&brokenWriter{most, broken}, f, someTime); !errors.Is(err, broken) {
			t.Errorf("written %d bytes: %v", most, err)
		}
		f.Release()
		again := store.New(store.Config{})
		in := io.MultiReader(bytes.NewReader(data[:most]), iotest.ErrReader(broken))
		if _, _, err := ReadState(in, again, 0); !errors.Is(err, broken) {
			t.Errorf("read %d bytes: %v", most, err)
		}
		again.Close()
	}
}

type brokenWriter struct {
	most int
	err  error
}

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.most -= len(b); w.most < 0 {
		return 0, w.err
	}
	return len(b), nil
}
