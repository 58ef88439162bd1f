package persistence

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// tryRecover recovers files and uses the state. Any contents are read or refused as damaged. With repair they are read
// unless their version is newer, or they have more keys than fit.
func tryRecover(t *testing.T, files map[string][]byte) {
	t.Helper()
	for _, repair := range []bool{false, true} {
		s := store.New(store.Config{Shards: 1, MaxBytes: 64 << 20})
		_, err := Recover(testdisk.Of(files), s, someTime, repair, quiet)
		_, isDamage := errors.AsType[*disk.DamageError](err)
		if err != nil && !isDamage && !errors.Is(err, keyspace.ErrNoRoom) || err != nil && repair && isDamage && !errors.Is(err, disk.ErrNewer) {
			t.Errorf("repair %t: %v", repair, err)
		}
		useAll(s)
		s.Close()
	}
}

// useAll decides on every key and policy of a store.
func useAll(s *store.Store) {
	var keys []engine.Op
	s.Scan(0, 1<<30, 0, func(e keyspace.Entry) {
		keys = append(keys, engine.Op{Key: append([]byte{}, e.Key...), Limit: e.Limit, Tokens: 1, Who: []byte("x")})
	})
	for _, op := range keys {
		s.Apply(someTime, []engine.Op{op, {Verb: engine.Look, Key: op.Key}, {Verb: engine.Delete, Key: op.Key}}, make([]engine.Result, 3))
	}
	for _, name := range s.PolicyNames() {
		s.Apply(someTime, []engine.Op{{Verb: engine.Check, Key: []byte(name), Who: []byte("x"), Tokens: 1}}, make([]engine.Result, 1))
	}
}

func FuzzSnapshot(f *testing.F) {
	name := disk.FileName(disk.SnapshotPrefix, 1)
	f.Add(written(f, false)[name], false)
	f.Add(written(f, false)[name], true)
	f.Add([]byte("dear diary"), false)
	f.Fuzz(func(t *testing.T, data []byte, sums bool) {
		if sums {
			data = testdisk.ResumAll(data, disk.SnapshotMagic, 1)
		}
		tryRecover(t, map[string][]byte{name: data})
	})
}

func FuzzJournal(f *testing.F) {
	name, next := disk.FileName(disk.JournalPrefix, 1), disk.FileName(disk.JournalPrefix, 2)
	files := written(f, true)
	f.Add(files[name], false, uint16(0))
	f.Add(files[name], true, uint16(len(files[name])))
	f.Add(files[next], false, uint16(128))
	f.Fuzz(func(t *testing.T, data []byte, sums bool, durable uint16) {
		if sums {
			data = testdisk.ResumAll(data, disk.JournalMagic, 1)
		}
		files := map[string][]byte{name: data}
		if durable > 0 {
			files[next] = disk.JournalHeader(2, disk.Predecessor{Before: 1, Durable: int64(durable), Ended: int64(durable)}, 0, 0)
		}
		tryRecover(t, files)
	})
}

// A stream with any contents is read or refused as damaged, and the state read can be used.
func FuzzReadState(f *testing.F) {
	s := busyStore(rand.New(rand.NewPCG(2, 1)), 10)
	f.Add(writeState(f, s, someTime), false)
	f.Add(writeState(f, s, someTime), true)
	f.Add([]byte("dear diary"), false)
	s.Close()
	f.Fuzz(func(t *testing.T, data []byte, sums bool) {
		if sums {
			data = testdisk.ResumAll(data, disk.SnapshotMagic, 0)
		}
		s := store.New(store.Config{Shards: 1, MaxBytes: 64 << 20})
		defer s.Close()
		_, _, err := ReadState(bytes.NewReader(data), s, 0)
		if _, isDamage := errors.AsType[*disk.DamageError](err); err != nil && !isDamage && !errors.Is(err, keyspace.ErrNoRoom) {
			t.Error(err)
		}
		useAll(s)
	})
}

// ignore takes everything.
type ignore struct{}

func (ignore) change(keyspace.Change) error { return nil }
func (ignore) end(int64) error              { return nil }

func FuzzDecoder(f *testing.F) {
	for _, file := range written(f, true) {
		disk.WholeBlocks(file, 1, 0, func(_ int64, payload []byte) { f.Add(payload) })
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) < disk.PayloadHead {
			return
		}
		if err := new(decoder).decode(payload, ignore{}); err != nil && !errors.Is(err, disk.ErrDamaged) && !errors.Is(err, disk.ErrNewer) {
			t.Error(err)
		}
	})
}
