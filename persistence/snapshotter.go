package persistence

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// snapshotResult is the outcome of writing a snapshot.
type snapshotResult struct {
	states  int64
	size    int64
	took    time.Duration
	err     error
	removal error // of the files it replaces
}

// ErrBusy is returned by SaveAlone while a snapshot is being written.
var ErrBusy = errors.New("a snapshot is being written already")

// Save starts a snapshot, after the one that is being written if there is one. done receives a value when the snapshot
// is complete and no older state in the journal could replace its contents.
func (m *Manager) Save() (done <-chan error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requestLocked()
}

// SaveAlone starts a snapshot unless one is being written or requested: then it returns [ErrBusy].
func (m *Manager) SaveAlone() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy {
		return ErrBusy
	}
	m.requestLocked()
	return nil
}

func (m *Manager) requestLocked() <-chan error {
	done := make(chan error, 1)
	m.busy, m.requested = true, append(m.requested, done)
	select {
	case m.requests <- struct{}{}:
	default:
	}
	return done
}

// setBusy records whether a snapshot is being written. It stays true while more are requested.
func (m *Manager) setBusy(saving bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = saving || len(m.requested) > 0
}

func (m *Manager) takeRequests() []chan error {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.requested
	m.requested = nil
	return asked
}

// wantsSnapshot reports whether a snapshot is due apart from the schedule.
func (m *Manager) wantsSnapshot() bool {
	if m.snapshotDone != nil || m.Clock() < m.snapshotNotBefore {
		return false
	}
	return m.snapshotNeeded || m.journal != nil && m.oldJournalBytes+m.journal.size > max(m.JournalBytes, m.Status().SnapshotBytes)
}

// startSnapshot begins a snapshot with a new journal. While one is being written, later requests wait for another after
// it.
func (m *Manager) startSnapshot() {
	asked := m.takeRequests()
	m.snapshotWaiters = append(m.snapshotWaiters, asked...)
	if m.snapshotDone != nil {
		m.snapshotNeeded = m.snapshotNeeded || len(asked) > 0
		return
	}
	if err := m.rotate(); err != nil {
		m.snapshotFailed(err)
		return
	}
	m.setBusy(true)
	m.snapshotNeeded, m.covered = false, true
	m.snapshotDone = make(chan snapshotResult, 1)
	var firstSync func()
	if m.journal != nil {
		firstSync = m.journal.startSync(m.Clock())
	}
	go m.write(m.number, firstSync, m.snapshotDone)
}

// write runs on a separate goroutine. It does the new journal's first sync, so that the flushes do not wait for it, and
// writes a snapshot.
func (m *Manager) write(number uint64, firstSync func(), result chan<- snapshotResult) {
	if firstSync != nil {
		firstSync()
	}
	start := time.Now()
	var s snapshotResult
	s.states, s.size, s.err = writeSnapshot(m.FS, m.Store, m.Clock, number, m.manifest.Identity(), m.rest)
	if s.err == nil { // from here on the start refuses a directory without it
		s.removal = m.manifest.Keep(func(c *disk.Claims) { c.Snapshot = max(c.Snapshot, number+1) })
		s.removal = errors.Join(s.removal, removeBefore(m.FS, number))
	}
	s.took = time.Since(start)
	result <- s
}

// snapshotRest is the pause of a snapshot between blocks, which hold some 2000 keys each. On a machine with few cores
// decisions would otherwise wait milliseconds for a core.
const snapshotRest = 200 * time.Microsecond

func (m *Manager) rest() {
	if !m.ending.Load() {
		time.Sleep(snapshotRest)
	}
}

// rotate ends the journal and begins the next one: its changes are later than the start of the snapshot with its
// number. The first sync of the new one makes both durable. A journal that could not be synced is given up; policies,
// which are written as operations, are then written again.
func (m *Manager) rotate() error {
	if m.journal == nil {
		m.number++
		return nil
	}
	if !m.journal.broken {
		_, err := m.writeChanges(true)
		if m.note(err); err != nil {
			return err
		}
	}
	next, err := m.journal.startNext()
	if err != nil {
		return err
	}
	if m.journal.broken {
		store.ForgetJournaled(m.Store)
		next.writePolicies(m.Store, m.Clock())
	}
	m.number, m.journal, m.oldJournalBytes = next.number, next, 0
	return nil
}

// finishSnapshot takes the result of a snapshot.
func (m *Manager) finishSnapshot(s snapshotResult) {
	m.snapshotDone = nil
	if s.err != nil {
		m.snapshotFailed(s.err)
		return
	}
	m.setBusy(false)
	st := m.Status()
	st.LastSaveErr, st.LastSave, st.SnapshotBytes, st.SnapshotKeys = nil, m.Clock(), s.size, s.states
	m.status.Store(&st)
	m.Log.Info("wrote a snapshot", "keys", s.states, "bytes", s.size, "took", s.took)
	if s.removal != nil {
		m.Log.Warn("could not remove files that a snapshot has replaced", "reason", s.removal)
	}
	if m.covered {
		m.gap = nil
		m.report()
	}
	if m.snapshotNeeded {
		return // for the requests made since
	}
	if m.journal == nil {
		m.answer(&m.snapshotWaiters, nil)
		return
	}
	// the journal's states replace the snapshot's: they must not be older
	m.completeWaiters = append(m.completeWaiters, m.snapshotWaiters...)
	m.snapshotWaiters, m.completeAt = nil, math.MaxInt64
	m.flush()
	m.completeAt = m.journal.total
	m.answerComplete(m.journalErr)
}

// snapshotFailed schedules another snapshot. Only the first failure in a row is logged.
func (m *Manager) snapshotFailed(err error) {
	m.setBusy(false)
	m.snapshotNotBefore, m.snapshotNeeded, m.covered = m.Clock()+int64(resaveEvery), true, false
	st := m.Status()
	if st.LastSaveErr == nil {
		m.Log.Error("could not write a snapshot; the previous one is kept", "reason", err)
	}
	st.LastSaveErr = err
	m.status.Store(&st)
	m.answer(&m.snapshotWaiters, err)
}

// removeBefore removes the snapshots and journals that a snapshot has replaced, and unfinished ones left by crashes.
func removeBefore(fs disk.FS, number uint64) error {
	names, err := fs.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		if n, isOurs := disk.NumberOf(strings.TrimSuffix(name, disk.TempSuffix)); isOurs && n < number {
			err = errors.Join(err, fs.Remove(name))
		}
	}
	return err
}
