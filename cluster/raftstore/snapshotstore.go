package raftstore

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence/disk"
)

const snapshotsDir = "snapshots"

// snapshotsKept is how many snapshots stay on disk: the second is needed if the newest is damaged.
const snapshotsKept = 2

// snapshotStore is a raft.SnapshotStore of files in a directory. Raft sees the newest snapshot that is whole. An older
// one is of use only if the log goes on from it, which [Open] checks.
type snapshotStore struct {
	dir         string
	incarnation string             // of the node; "" before it has one
	kept        func(index uint64) // told of each snapshot once it is durable

	closing sync.Mutex // held while a snapshot becomes the newest

	mu     sync.Mutex
	newest *raft.SnapshotMeta // nil if there is none; changed under both locks
}

// path returns the path of a snapshot.
func (s *snapshotStore) path(name string) string { return filepath.Join(s.dir, name) }

// openSnapshots opens the directory of a node's snapshots. It removes the unfinished snapshots of a crash. damage lists
// the errors of the snapshots that are newer than the one in use.
func openSnapshots(dir, incarnation string, to *slog.Logger) (s *snapshotStore, damage []error, err error) {
	s = &snapshotStore{dir: filepath.Join(dir, snapshotsDir), incarnation: incarnation, kept: func(uint64) {}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, nil, err
	}
	names, temporary, err := listSnapshots(s.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range temporary {
		if err := os.RemoveAll(s.path(name)); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range names {
		meta, err := checkSnapshot(s.path(name), incarnation)
		switch {
		case err == nil:
			s.newest = meta
			for _, d := range damage {
				to.Warn("a snapshot of the cluster's state is damaged; the node continues from the previous one and the log", "reason",
					d, "snapshot", name)
			}
			return s, damage, nil
		case errors.Is(err, disk.ErrNewer), errors.Is(err, os.ErrPermission):
			return nil, nil, fmt.Errorf("%s: %w", s.path(name), err)
		}
		damage = append(damage, fmt.Errorf("%s: %w", s.path(name), err))
	}
	return s, damage, nil
}

// listSnapshots lists the snapshots in a directory, newest first, and the remains of unfinished ones.
func listSnapshots(dir string) (names, temporary []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var ids []snapshotID
	for _, e := range entries {
		name, isSnapshot := strings.CutSuffix(e.Name(), snapshotFileSuffix)
		if strings.HasSuffix(name, atomicfile.TempSuffix) {
			temporary = append(temporary, e.Name())
		} else if id, ok := parseSnapshotID(name); ok && isSnapshot {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b snapshotID) int { return b.compare(a) })
	for _, id := range ids {
		names = append(names, id.String()+snapshotFileSuffix)
	}
	return names, temporary, nil
}

func (id snapshotID) compare(other snapshotID) int {
	return slices.Compare([]uint64{id.term, id.index, id.number}, []uint64{other.term, other.index, other.number})
}

// checkSnapshot checks all of a snapshot's file.
func checkSnapshot(path, incarnation string) (*raft.SnapshotMeta, error) {
	meta, state, err := openSnapshotFile(path, incarnation)
	if err != nil {
		return nil, err
	}
	return meta, state.Close()
}

// List implements raft.SnapshotStore.
func (s *snapshotStore) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return nil, nil
	}
	meta := *s.newest
	return []*raft.SnapshotMeta{&meta}, nil
}

// Open implements raft.SnapshotStore.
func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	path := s.path(id + snapshotFileSuffix)
	meta, state, err := openSnapshotFile(path, s.incarnation)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return meta, state, nil
}

// Create implements raft.SnapshotStore.
func (s *snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != raft.SnapshotVersionMax {
		return nil, fmt.Errorf("a snapshot of version %d is not known here", version)
	}
	id := snapshotID{term, index, uint64(time.Now().UnixMilli())}
	meta := snapshotMeta{ID: id.String(), Index: index, Term: term, Configuration: configuration,
		ConfigurationIndex: configurationIndex, Incarnation: s.incarnation}
	w, err := createSnapshotFile(s.dir, meta)
	if err != nil {
		return nil, err
	}
	return &snapshotSink{snapshotWriter: w, store: s, meta: meta, id: id}, nil
}

// snapshotSink is a raft.SnapshotSink.
type snapshotSink struct {
	*snapshotWriter
	store *snapshotStore
	meta  snapshotMeta
	id    snapshotID
	ended bool
}

// ID implements raft.SnapshotSink.
func (k *snapshotSink) ID() string { return k.meta.ID }

// Cancel implements raft.SnapshotSink.
func (k *snapshotSink) Cancel() error {
	if !k.ended {
		k.ended = true
		k.file.Abort()
	}
	return nil
}

// Close implements raft.SnapshotSink: the snapshot is durable when it returns nil. A snapshot older than the newest is
// dropped, with an error, so that Raft forgets it too: a node's own snapshot may end after it has installed a newer
// one, and a leader's snapshot may arrive late.
func (k *snapshotSink) Close() error {
	if k.ended {
		return nil
	}
	k.ended = true
	s := k.store
	s.closing.Lock()
	defer s.closing.Unlock()
	if newest := s.newest; newest != nil && k.id.compare(snapshotID{term: newest.Term, index: newest.Index}) < 0 {
		k.file.Abort()
		return fmt.Errorf("the snapshot of entry %d is dropped: there is one of entry %d", k.id.index, newest.Index)
	}
	if err := k.finish(); err != nil {
		return err
	}
	s.mu.Lock()
	s.newest = k.meta.raftMeta(k.size)
	s.mu.Unlock()
	s.kept(k.meta.Index)
	return s.removeOld()
}

// removeOld removes all snapshots except the newest ones.
func (s *snapshotStore) removeOld() error {
	names, _, err := listSnapshots(s.dir)
	for _, name := range names[min(snapshotsKept, len(names)):] {
		err = errors.Join(err, os.Remove(s.path(name)))
	}
	return err
}
