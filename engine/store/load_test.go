package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
)

// someEntries are of few keys, so that some come more than once, and some have expired.
func someEntries(r *rand.Rand, n int) (entries []keyspace.Entry) {
	for range n {
		fullIn := r.Int64N(20*sec) - 5*sec
		entries = append(entries, keyspace.Entry{Key: fmt.Appendf(nil, "key-%d", r.IntN(n)), Limit: bucket(50, 1, sec), State: binary.LittleEndian.AppendUint64(nil, uint64(epoch+fullIn))})
	}
	return entries
}

// LoadAll does what Load would for each entry in turn, whichever shards they go to.
func TestLoadAllIsLoadForEach(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, shards := range []int{1, 2, 64} {
		for _, n := range []int{0, 1, 16, 16 + 1, 1000} {
			entries := someEntries(r, n)
			one, all := New(Config{Shards: shards}), New(Config{Shards: shards})
			for _, e := range entries {
				if err := one.Load(epoch, e); err != nil {
					t.Fatal(err)
				}
			}
			if err := all.LoadAll(epoch, entries); err != nil {
				t.Fatal(err)
			}
			if one.Len() != all.Len() || one.Digest(epoch) != all.Digest(epoch) {
				t.Errorf("%d shards, %d entries: %d and %d keys", shards, n, one.Len(), all.Len())
			}
			one.Close()
			all.Close()
		}
	}
}

// An entry that does not fit its limit, or the memory bound, is refused wherever among the others it comes.
func TestLoadAllRefuses(t *testing.T) {
	entries := someEntries(rand.New(rand.NewPCG(2, 1)), 3*16)
	for at := range entries {
		s, bad := New(Config{Shards: 4}), append([]keyspace.Entry{}, entries...)
		bad[at].Limit.Algorithm = 99
		if err := s.LoadAll(epoch, bad); !errors.Is(err, algorithm.ErrState) {
			t.Errorf("entry %d: %v", at, err)
		}
		if err := s.LoadAll(epoch, entries); err != nil {
			t.Errorf("the shards cannot be used afterwards: %v", err)
		}
		s.Close()
	}
	s := New(Config{Shards: 4, MaxBytes: 1})
	defer s.Close()
	if err := s.LoadAll(epoch, entries); !errors.Is(err, keyspace.ErrNoRoom) {
		t.Errorf("beyond the memory bound: %v", err)
	}
}

// Several may load at once, as recovery does, beside others who lock several shards.
func TestLoadAllSideBySide(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	var loaders sync.WaitGroup
	for i := range uint64(4) {
		loaders.Go(func() {
			r := rand.New(rand.NewPCG(i, 1))
			for range 50 {
				if err := s.LoadAll(epoch, someEntries(r, 200)); err != nil {
					t.Error(err)
				}
				s.ApplyAtomic(epoch, []engine.Op{{Verb: engine.Delete, Key: []byte("key-1")}, {Verb: engine.Delete, Key: []byte("key-2")}}, make([]engine.Result, 2))
			}
		})
	}
	loaders.Wait()
}
