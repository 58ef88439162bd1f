package raftstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"github.com/stintdb/stint/persistence"
)

// votesFile holds the values that a node must never forget: its term, its vote, and further values of Raft and this package, each under
// a key. The file holds all of them twice, in two slots of equal size. A slot is
//
//	8  "STINTVTS"
//	4  version
//	4  length n of the JSON
//	8  number of the write, the same in both slots
//	n  JSON: an object from keys to values in base64
//	4  CRC-32C of all before
//	   zeros
//
// A write fills and syncs the first slot, then the second. So one of them is whole at any moment, and a whole one is never
// older than the last acknowledged write: where only one is whole, that one counts, whether a crash tore the other or it was damaged
// later. Where both are whole, the one of the later write counts.
const (
	votesFile     = "votes.stint"
	votesMagic    = "STINTVTS"
	votesVersion  = 1
	votesSlotSize = 16 << 10
	votesHead     = 8 + 4 + 4 + 8
)

// The keys of Raft's values.
var (
	termKey     = []byte("CurrentTerm")
	voteTermKey = []byte("LastVoteTerm")
	voteKey     = []byte("LastVoteCand")
)

// ClusterIDKey is the key of the cluster's id. A node must know it before its log has been replayed, or it might join another
// cluster.
var ClusterIDKey = []byte("stint/cluster")

// FormatsKey is the key of the cluster's format version. A node must know it before its log has been replayed, or it would
// refuse newer operations after its start.
var FormatsKey = []byte("stint/formats")

// errNoValue is Raft's word for a key without a value: it knows that error by its text.
var errNoValue = errors.New("not found")

// votes is a raft.StableStore in a votesFile. Methods may be called from any goroutine.
type votes struct {
	mu     sync.Mutex
	file   persistence.File
	number uint64 // of the last write
	values map[string][]byte
}

// createVotes begins a file of votes with some values, durably.
func createVotes(dir persistence.FS, values map[string][]byte) (*votes, error) {
	file, err := dir.Create(votesFile)
	if err != nil {
		return nil, err
	}
	v := &votes{file: file, values: values}
	if err := errors.Join(v.write(values), dir.SyncDir()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return v, nil
}

// openVotes opens a file of votes. If one slot is damaged, it is rewritten from the other, and repaired is true.
func openVotes(dir persistence.FS) (v *votes, repaired bool, err error) {
	number, values, whole, err := readVotes(dir)
	if err != nil {
		return nil, false, err
	}
	file, err := dir.Edit(votesFile)
	if err != nil {
		return nil, false, err
	}
	v = &votes{file: file, number: number, values: values}
	if whole < 2 {
		if err := v.write(values); err != nil {
			return nil, false, errors.Join(err, file.Close())
		}
	}
	return v, whole < 2, nil
}

// readVotes reads a file of votes, which may be in use, and changes nothing. It returns how many slots are whole and of the
// last write.
func readVotes(dir persistence.FS) (number uint64, values map[string][]byte, whole int, err error) {
	in, err := dir.Open(votesFile)
	if err != nil {
		return 0, nil, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(in, 2*votesSlotSize))
	if err = errors.Join(err, in.Close()); err != nil {
		return 0, nil, 0, err
	}
	var reasons []error
	for at := 0; at < 2*votesSlotSize; at += votesSlotSize {
		n, read, err := readVotesSlot(data[min(at, len(data)):min(at+votesSlotSize, len(data))])
		switch {
		case errors.Is(err, persistence.ErrNewer):
			return 0, nil, 0, err
		case err != nil:
			reasons = append(reasons, err)
		case whole == 0 || n > number:
			number, values, whole = n, read, 1
		case n == number:
			whole++
		}
	}
	if whole == 0 {
		return 0, nil, 0, fmt.Errorf("both copies of the votes are damaged: %w", errors.Join(reasons...))
	}
	return number, values, whole, nil
}

func readVotesSlot(slot []byte) (number uint64, values map[string][]byte, err error) {
	if len(slot) < votesHead+4 || string(slot[:8]) != votesMagic {
		return 0, nil, errDamaged
	}
	end := votesHead + int64(binary.LittleEndian.Uint32(slot[12:]))
	if end > int64(len(slot)-4) || crc32.Checksum(slot[:end], castagnoli) != binary.LittleEndian.Uint32(slot[end:]) {
		return 0, nil, errDamaged
	}
	if version := binary.LittleEndian.Uint32(slot[8:]); version > votesVersion {
		return 0, nil, fmt.Errorf("votes, version %d: %w", version, persistence.ErrNewer)
	}
	err = json.Unmarshal(slot[votesHead:end], &values)
	return binary.LittleEndian.Uint64(slot[16:]), values, err
}

// write makes both slots hold values, durably. After an error values may or may not be found at the next start; the write
// has to be repeated before anything is built on them.
func (v *votes) write(values map[string][]byte) error {
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	if len(text) > votesSlotSize-votesHead-4 {
		return fmt.Errorf("%d bytes of votes do not fit", len(text))
	}
	v.number++ // counts attempts: the remains of a failed one never look like a later write
	slot := binary.LittleEndian.AppendUint32([]byte(votesMagic), votesVersion)
	slot = binary.LittleEndian.AppendUint32(slot, uint32(len(text)))
	slot = append(binary.LittleEndian.AppendUint64(slot, v.number), text...)
	slot = binary.LittleEndian.AppendUint32(slot, crc32.Checksum(slot, castagnoli))
	slot = append(slot, make([]byte, votesSlotSize-len(slot))...)
	for _, at := range []int64{0, votesSlotSize} {
		if _, err := v.file.WriteAt(slot, at); err != nil {
			return err
		}
		if err := v.file.Sync(); err != nil {
			return err
		}
	}
	v.values = values
	return nil
}

// Set implements raft.StableStore. A value that is there already costs nothing.
func (v *votes) Set(key, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old, is := v.values[string(key)]; is && bytes.Equal(old, value) {
		return nil
	}
	next := maps.Clone(v.values)
	next[string(key)] = bytes.Clone(value)
	return v.write(next)
}

// Get implements raft.StableStore.
func (v *votes) Get(key []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, is := v.values[string(key)]
	if !is {
		return nil, errNoValue
	}
	return bytes.Clone(value), nil
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

// Close closes the file. All that was set is durable.
func (v *votes) Close() error { return v.file.Close() }

// loadVotes opens the votes in a node's directory, or begins them if the node is new.
func loadVotes(dir string) (v *votes, repaired bool, err error) {
	path := filepath.Join(dir, votesFile)
	v, repaired, err = openVotes(persistence.Dir(dir))
	if err != nil {
		used, usedErr := isUsed(dir)
		if usedErr != nil {
			return nil, false, usedErr
		}
		if !used { // a crash may have torn the making of the file, and nothing was built on it
			v, err = createVotes(persistence.Dir(dir), map[string][]byte{})
		}
	}
	switch {
	case err == nil:
		return v, repaired, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, fmt.Errorf("%s is missing, although %s shows that the node has been in use; %w", path, IdentityFile, ErrLostState)
	case errors.Is(err, errDamaged):
		return nil, false, fmt.Errorf("%s: %w; %w", path, err, ErrLostState)
	}
	return nil, false, fmt.Errorf("%s: %w", path, err)
}
