package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/stintdb/stint/cluster/boltfile"
)

// votesFiles hold the values that a node must never forget: its term, its vote, and further values of Raft and this
// package, each under a key. They are two files of raft-boltdb with the same contents. bbolt keeps each of them whole
// in a crash, and both are written before a write is acknowledged. So a file that is whole has every acknowledged
// write. If only one is whole, that one counts; if both are, the later write of each key counts.
var votesFiles = [2]string{"votes-1.bolt", "votes-2.bolt"}

// The keys of Raft's values.
var (
	termKey     = []byte("CurrentTerm")
	voteTermKey = []byte("LastVoteTerm")
	voteKey     = []byte("LastVoteCand")
)

// ClusterIDKey is the key of the cluster's id. A node must know it before its log has been replayed, or it might join
// another cluster.
var ClusterIDKey = []byte("stint/cluster")

// FormatsKey is the key of the cluster's format version. A node must know it before its log has been replayed, or it
// would refuse newer operations after its start.
var FormatsKey = []byte("stint/formats")

// errNoValue is the error for a key without a value. Raft recognizes it by its text.
var errNoValue = errors.New("not found")

// votes is a raft.StableStore in votesFiles. Methods may be called from any goroutine.
type votes struct {
	mu      sync.Mutex
	dir     string
	copies  [2]*boltfile.Store  // nil for a file whose last write failed: it is made anew
	number  uint64              // of the last write
	noted   func(number uint64) // called for each write once it is durable
	records records
}

// write keeps the value of a key in both files, durably. After an error the value may or may not be found at the next
// start; the write has to be repeated before anything is built on it.
func (v *votes) write(key string, value []byte) error {
	v.number++ // counts attempts, so the remains of a failed write never look like a later write
	before := v.records
	v.records = maps.Clone(before)
	v.records[key] = record{v.number, value}
	var errs [2]error
	var both sync.WaitGroup // written at the same time, because each file is whole by itself
	for i := range v.copies {
		both.Go(func() { errs[i] = v.writeCopy(i, key) })
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		v.records = before
		return err
	}
	v.noted(v.number)
	return nil
}

// writeCopy writes the value of a key to one of the files. After a failed write another file replaces it, because its
// contents may differ from those on the disk.
func (v *votes) writeCopy(i int, key string) error {
	if v.copies[i] == nil {
		return v.makeCopy(i)
	}
	err := v.copies[i].Set([]byte(key), v.records[key].seal(key))
	if err != nil {
		_ = v.copies[i].Close()
		v.copies[i] = nil
	}
	return err
}

// Set implements raft.StableStore. A value that is there already costs nothing.
func (v *votes) Set(key, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old, is := v.records[string(key)]; is && bytes.Equal(old.value, value) {
		return nil
	}
	return v.write(string(key), bytes.Clone(value))
}

// Get implements raft.StableStore.
func (v *votes) Get(key []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r, is := v.records[string(key)]
	if !is {
		return nil, errNoValue
	}
	return bytes.Clone(r.value), nil
}

// SetUint64 implements raft.StableStore.
func (v *votes) SetUint64(key []byte, value uint64) error {
	return v.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

// GetUint64 implements raft.StableStore.
func (v *votes) GetUint64(key []byte) (uint64, error) {
	value, err := v.Get(key)
	if err != nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("the value of %s has %d bytes, and a number has 8", key, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// Close closes the files. All that was set is durable.
func (v *votes) Close() (err error) {
	for _, c := range v.copies {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
