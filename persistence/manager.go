package persistence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/persistence/disk"
)

// Mode is the durability mode: the time at which decisions are on disk.
type Mode string

// The modes, by their names in the settings.
const (
	Interval     Mode = "interval" // passed to the kernel within FlushEvery, synced within SyncEvery
	Always       Mode = "always"   // synced before the reply leaves
	SnapshotOnly Mode = "snapshot" // only snapshots
)

const (
	// FlushEvery is the longest a change stays in the process in the mode interval.
	FlushEvery = 10 * time.Millisecond
	// SyncEvery is the longest a change stays in the kernel in the mode interval.
	SyncEvery = time.Second
	// LargeBytesPerSecond bounds the rate at which states of more than [store.LargeState] bytes are written in the
	// mode interval. A state is always written as a whole; the next large states wait for the time that its bytes take
	// at this rate. So one of 2 MB stays in the process for an eighth of a second in place of FlushEvery.
	LargeBytesPerSecond = 16 << 20
	// retryEvery is how long the journal waits after a failure, and resaveEvery a snapshot.
	retryEvery  = 100 * time.Millisecond
	resaveEvery = 5 * time.Second
)

// Options configure a [Manager].
type Options struct {
	FS            disk.FS
	Store         *store.Store
	Clock         func() int64 // nanoseconds since the Unix epoch
	Log           *slog.Logger
	Mode          Mode
	SnapshotEvery time.Duration // 0 for never on a schedule
	JournalBytes  int64         // a journal larger than this, and than the last snapshot, is replaced by a new snapshot
}

// Manager keeps a store's state on disk. Run does the work; all other methods may be called from any goroutine.
type Manager struct {
	Options
	waiting  chan struct{} // has one token while commits wait
	requests chan struct{} // has one token while snapshots are requested

	mu        sync.Mutex
	commits   []func(error)
	requested []chan error // notified when a snapshot begun later is complete
	busy      bool         // a snapshot is being written or requested

	failing  atomic.Pointer[failure]
	ending   atomic.Bool // there are no more decisions that a snapshot could delay
	skipLast atomic.Bool // no last snapshot
	status   atomic.Pointer[persistencestatus.Status]

	manifest *disk.Manifest
	// the fields below belong to Run
	journal           *journal
	journalErr        error // of the last attempt to write or sync the journal
	number            uint64
	snapshotDone      chan snapshotResult // of the snapshot being written, nil when none is
	snapshotWaiters   []chan error
	completeWaiters   []chan error // their snapshot is complete; notified once the journal is durable up to completeAt
	completeAt        int64
	snapshotNeeded    bool  // the journal alone is incomplete
	oldJournalBytes   int64 // bytes of journals before this process that a snapshot has yet to replace
	flushedUntil      int64
	largeNotBefore    int64 // large states are not written before this time, unless commits wait for them
	snapshotNotBefore int64 // no automatic snapshot before this time

	// gap is the reason why flushed changes may be only in memory, until a snapshot begun later is complete. covered
	// means that the snapshot being written was begun later.
	gap     error
	covered bool
}

type failure struct{ err error }

// NewManager starts a journal after the recovered files.
func NewManager(o Options, found Recovered) (*Manager, error) {
	m := &Manager{Options: o, number: found.next, waiting: make(chan struct{}, 1), requests: make(chan struct{}, 1)}
	m.status.Store(&persistencestatus.Status{Mode: string(o.Mode)})
	m.snapshotNeeded, m.oldJournalBytes = found.Repaired || found.Journals > maxJournals, found.Bytes
	var err error
	if m.manifest, err = found.openManifest(o.FS); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	if o.Mode == SnapshotOnly {
		// The next start must find the same files: a snapshot that was removed because it could not be made durable may
		// still come back. In the other modes the new journal's name prevents that.
		if err := errors.Join(m.manifest.Sync(), o.FS.SyncDir()); err != nil {
			return nil, fmt.Errorf("cannot keep state: %w", err)
		}
		return m, nil
	}
	if m.journal, err = createJournal(o.FS, m.manifest, m.number, found.last); err != nil {
		m.journal = &journal{fs: o.FS, in: m.manifest, file: noFile{err}, number: m.number, broken: true}
	} else if err = m.journal.sync(); err != nil {
		m.journal.broken = true
	} else {
		err = m.manifest.Sync()
	}
	if err != nil && !isFull(err) {
		m.journal.close()
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	if o.Mode == Always {
		m.journal.step = roomBytes
	}
	o.Store.Track(true)
	if err != nil { // as if the disk had become full a moment later: not fatal
		m.note(err)
	}
	return m, nil
}

// openManifest opens the manifest of a directory that has been read, or begins one. Where a full disk has no room for
// one, the files that follow have no identity until the next start.
func (r Recovered) openManifest(dir disk.FS) (*disk.Manifest, error) {
	c := disk.Claims{First: r.next, Snapshot: r.newest}
	if r.last.Ended > 0 {
		c.Last, c.Bytes = r.last.Before+1, uint64(r.last.Ended)
	}
	if r.manifest == nil {
		m := disk.NewManifest(c)
		if err := m.Create(dir); isFull(err) {
			return &disk.Manifest{}, nil
		} else if err != nil {
			return nil, err
		}
		return m, nil
	}
	m := r.manifest
	if !r.isMixed {
		c.First = m.Claims().First
	}
	if err := m.Reopen(dir); err != nil {
		return nil, err
	}
	if err := m.Update(func(kept *disk.Claims) { *kept = c }); err != nil && !isFull(err) {
		return nil, errors.Join(fmt.Errorf("%s: %w", disk.ManifestFile, err), m.Close())
	}
	return m, nil
}

// noFile is the file of a journal that could not be created.
type noFile struct{ err error }

func (f noFile) Write([]byte) (int, error)          { return 0, f.err }
func (f noFile) WriteAt([]byte, int64) (int, error) { return 0, f.err }
func (f noFile) ReadAt([]byte, int64) (int, error)  { return 0, f.err }
func (f noFile) Sync() error                        { return f.err }
func (f noFile) Truncate(int64) error               { return f.err }
func (f noFile) Close() error                       { return nil }

const (
	// maxJournals bounds the journals of killed processes that may wait for a later snapshot.
	maxJournals = 8
	// roomBytes is the number of zeros written in advance, at a time, to a journal in the mode always.
	roomBytes = 256 << 10
)

// Run writes state until ctx is done, then the remaining changes and a last snapshot.
func (m *Manager) Run(ctx context.Context) {
	flush := time.NewTicker(FlushEvery)
	defer flush.Stop()
	var schedule <-chan time.Time
	if m.SnapshotEvery > 0 {
		tick := time.NewTicker(m.SnapshotEvery)
		defer tick.Stop()
		schedule = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			m.finish()
			return
		case <-m.waiting:
			m.flush()
		case <-flush.C:
			m.flush()
		case <-schedule:
			m.startSnapshot()
		case <-m.requests:
			m.startSnapshot()
		case s := <-m.snapshotDone:
			m.finishSnapshot(s)
		}
		if m.wantsSnapshot() {
			m.startSnapshot()
		}
		m.publish()
	}
}

// Err is the reason why state is not written at the moment, nil if it is.
func (m *Manager) Err() error {
	if f := m.failing.Load(); f != nil {
		return f.err
	}
	return nil
}

// Status returns the status that INFO and the metrics show.
func (m *Manager) Status() persistencestatus.Status {
	st := *m.status.Load()
	st.Err = m.Err()
	return st
}

func (m *Manager) publish() {
	st := m.Status()
	st.Saving = m.snapshotDone != nil
	if m.journal != nil {
		st.JournalBytes, st.Journaled, st.FlushedUntil = m.journal.size, m.journal.total, m.flushedUntil
	}
	m.status.Store(&st)
}

// SkipLastSnapshot makes Run end without a snapshot. The journal is kept.
func (m *Manager) SkipLastSnapshot() { m.skipLast.Store(true) }

// finish writes the remaining changes and a last snapshot.
func (m *Manager) finish() {
	m.ending.Store(true)
	m.flushNow()
	if m.snapshotDone != nil {
		m.finishSnapshot(<-m.snapshotDone)
	}
	if !m.skipLast.Load() {
		m.startSnapshot()
		if m.snapshotDone != nil {
			m.finishSnapshot(<-m.snapshotDone)
		}
	}
	m.flushNow()
	if m.journal != nil {
		if err := m.journal.finish(); m.journalErr == nil {
			m.note(err)
		}
		m.answerComplete(m.journalErr)
	}
	if err := m.manifest.Close(); err != nil {
		m.Log.Warn("could not record what the directory holds, so a missing file may go unnoticed", "reason", err)
	}
	m.logLost()
	m.publish()
}

// logLost logs that the process ends with changes that are not on disk.
func (m *Manager) logLost() {
	err := m.Err()
	if m.journal == nil && !m.skipLast.Load() {
		err = m.Status().LastSaveErr
	}
	if err != nil {
		m.Log.Error("stopped, but the last changes could not be written to disk and are lost", "reason", err)
	}
}
