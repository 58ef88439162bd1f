package fsm

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// A snapshot of the state machine is a head, followed by the store in the format of package persistence:
//
//	8  "STINTFSM"
//	4  version of this head
//	4  length n of the next field
//	n  JSON: the cluster's id, its members, its time
//	4  CRC-32C of all before
const (
	snapshotMagic   = "STINTFSM"
	snapshotVersion = 1
	maxSnapshotHead = 4 << 20
)

// SnapshotHead is the head of a snapshot: the state of the cluster itself.
type SnapshotHead struct {
	Cluster
	Now     int64  `json:"now"`
	Applied uint64 `json:"applied,omitempty"`  // index of the last entry in it
	OwnTime int64  `json:"own_time,omitempty"` // the last own time of a transaction; see package transaction
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fsmSnapshot is the state at one entry of the log, while it is being written. Decisions go on.
type fsmSnapshot struct {
	head  SnapshotHead
	store *store.Snapshot
}

// Snapshot implements raft.FSM.
func (f *Machine) Snapshot() (raft.FSMSnapshot, error) {
	if f.Broken != nil {
		return nil, f.Broken
	}
	return &fsmSnapshot{head: f.head(f.Now.Load()), store: f.Store.Snapshot()}, nil
}

func (f *Machine) head(now int64) SnapshotHead {
	return SnapshotHead{Cluster: *f.Cluster.Load(), Now: now, Applied: f.Applied.Load(), OwnTime: f.Store.OwnTimes.Last()}
}

// Persist implements raft.FSMSnapshot.
func (s *fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	err := s.write(sink)
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s *fsmSnapshot) Release() { s.store.Release() }

func (s *fsmSnapshot) write(to io.Writer) error {
	head, err := s.head.encode()
	if err != nil {
		return err
	}
	if _, err := to.Write(head); err != nil {
		return err
	}
	_, _, err = persistence.WriteState(to, s.store, s.head.Now)
	return err
}

func (h *SnapshotHead) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32([]byte(snapshotMagic), snapshotVersion)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// ImportedHead returns the head of a snapshot of the cluster at a time, to be followed by an imported state in the
// format of package persistence.
func (f *Machine) ImportedHead(now int64) ([]byte, error) {
	head := f.head(now)
	head.Imported = true
	return head.encode()
}

// ReadSnapshotHead reads the head of a snapshot. The store follows.
func ReadSnapshotHead(from io.Reader) (head SnapshotHead, err error) {
	fixed := make([]byte, 16)
	if _, err := io.ReadFull(from, fixed); err != nil {
		return head, fmt.Errorf("snapshot of the cluster's state: %w", err)
	}
	version, size := binary.LittleEndian.Uint32(fixed[8:]), binary.LittleEndian.Uint32(fixed[12:])
	switch {
	case string(fixed[:8]) != snapshotMagic:
		return head, errors.New("not a snapshot of the cluster's state")
	case version > snapshotVersion:
		return head, fmt.Errorf("snapshot of the cluster's state, version %d: %w", version, errNewerEntry)
	case size > maxSnapshotHead:
		return head, fmt.Errorf("snapshot of the cluster's state: a head of %d bytes is more than there can be", size)
	}
	rest := make([]byte, size+4)
	if _, err := io.ReadFull(from, rest); err != nil {
		return head, fmt.Errorf("snapshot of the cluster's state: %w", err)
	}
	if crc32.Update(crc32.Checksum(fixed, castagnoli), castagnoli,
		rest[:size]) != binary.LittleEndian.Uint32(rest[size:]) {
		return head, errors.New("snapshot of the cluster's state: damaged")
	}
	err = json.Unmarshal(rest[:size], &head)
	return head, err
}

// Resting is a snapshot that is read beside other work. Rest is called after each block, by several goroutines, with the
// time that the block took.
type Resting interface{ Rest(took time.Duration) }

// Restore implements raft.FSM: it replaces the state by a snapshot's. If the snapshot cannot be read, the node cannot
// continue: it must not decide with a part of the state.
func (f *Machine) Restore(from io.ReadCloser) error {
	defer from.Close()
	if err := f.restore(from); err != nil {
		f.Broken = fmt.Errorf("a snapshot cannot be loaded: %w; %w", err, raftstore.ErrLostState)
		f.Fail(f.Broken)
		return f.Broken
	}
	return nil
}

func (f *Machine) restore(from io.Reader) error {
	f.Loading.Store(true)
	defer f.Loading.Store(false)
	in := bufio.NewReaderSize(from, 1<<20)
	head, err := ReadSnapshotHead(in)
	if err != nil {
		return err
	}
	if err := checkUsed(head.Formats, f.Knows); err != nil {
		return err
	}
	f.Store.Clear()
	var rest func(took time.Duration)
	if r, rests := from.(Resting); rests {
		rest = r.Rest
	}
	if _, _, err := persistence.ReadStateResting(in, f.Store, head.Now, rest); err != nil {
		return err
	}
	if head.Members == nil {
		head.Members = map[raft.ServerID]Member{}
	}
	f.setCluster(&head.Cluster)
	f.Store.OwnTimes.SetLast(head.OwnTime)
	f.Now.Store(head.Now)
	f.noteApplied(max(f.Applied.Load(), head.Applied))
	f.Clock.Observe(head.Now)
	f.Store.Replaced()
	return nil
}
