package cluster

import (
	"cmp"
	"errors"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// memSnapshots keeps the newest snapshot that is whole, in memory. Raft's own store for tests also keeps a part of a
// snapshot that was cut off, and takes the last snapshot that was begun for the newest.
type memSnapshots struct {
	mu         sync.Mutex
	newest     *memSnapshot
	unreadable error // why no snapshot can be opened; nil if it can
}

type memSnapshot struct {
	*raft.InmemSnapshotStore // for this snapshot only
	raft.SnapshotSink
	index, term uint64
	store       *memSnapshots
}

func (s *memSnapshots) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration,
	membersIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	m := &memSnapshot{InmemSnapshotStore: raft.NewInmemSnapshotStore(), index: index, term: term, store: s}
	var err error
	m.SnapshotSink, err = m.InmemSnapshotStore.Create(version, index, term, members, membersIndex, t)
	return m, err
}

func (m *memSnapshot) Close() error {
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.newest; n != nil && (n.term > m.term || n.term == m.term && n.index > m.index) {
		return errors.New("there is a newer snapshot")
	}
	s.newest = m
	return nil
}

func (s *memSnapshots) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return nil, nil
	}
	return s.newest.InmemSnapshotStore.List()
}

func (s *memSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil || s.unreadable != nil {
		return nil, nil, cmp.Or(s.unreadable, errors.New("there is no snapshot"))
	}
	return s.newest.InmemSnapshotStore.Open(id)
}
