package cluster

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/persistence"
)

// A snapshot of the fsm is a head and, behind it, the store in the format of package persistence:
//
//	8  "STINTFSM"
//	4  version of this head
//	4  length n of what follows
//	n  JSON: the cluster's id, its members, its time
//	4  CRC-32C of all before
const (
	snapshotMagic   = "STINTFSM"
	snapshotVersion = 1
	maxSnapshotHead = 4 << 20
)

type snapshotHead struct {
	register
	Now int64 `json:"now"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frozen is the state at one entry of the log, while it is being written. Decisions go on.
type frozen struct {
	head  snapshotHead
	store *engine.Frozen
}

// Snapshot implements raft.FSM.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	return &frozen{head: snapshotHead{*f.known.Load(), f.now.Load()}, store: f.store.Freeze()}, nil
}

// Persist implements raft.FSMSnapshot.
func (s *frozen) Persist(sink raft.SnapshotSink) error {
	err := s.write(sink)
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s *frozen) Release() { s.store.Release() }

func (s *frozen) write(to io.Writer) error {
	text, err := json.Marshal(s.head)
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte(snapshotMagic), snapshotVersion)
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(text))), text...)
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	if _, err := to.Write(head); err != nil {
		return err
	}
	_, _, err = persistence.WriteState(to, s.store, s.head.Now)
	return err
}

func readSnapshotHead(from io.Reader) (head snapshotHead, err error) {
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
	if crc32.Update(crc32.Checksum(fixed, castagnoli), castagnoli, rest[:size]) != binary.LittleEndian.Uint32(rest[size:]) {
		return head, errors.New("snapshot of the cluster's state: damaged")
	}
	err = json.Unmarshal(rest[:size], &head)
	return head, err
}

// Restore implements raft.FSM: the state is replaced by a snapshot's.
func (f *fsm) Restore(from io.ReadCloser) error {
	defer from.Close()
	f.loading.Store(true)
	defer f.loading.Store(false)
	in := bufio.NewReaderSize(from, 1<<20)
	head, err := readSnapshotHead(in)
	if err != nil {
		return err
	}
	f.store.Clear()
	if _, _, err := persistence.ReadState(in, f.store, head.Now); err != nil {
		return err
	}
	if head.Members == nil {
		head.Members = map[raft.ServerID]member{}
	}
	f.known.Store(&head.register)
	f.now.Store(head.Now)
	f.clock.observe(head.Now)
	return nil
}
