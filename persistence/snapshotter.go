package persistence

import (
	"errors"
	"math"
	"strings"
	"time"
)

// snapshotResult is the outcome of writing a snapshot.
type snapshotResult struct {
	number  uint64
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
func (k *Manager) Save() (done <-chan error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requestLocked()
}

// SaveAlone starts a snapshot unless one is being written or requested: then it returns [ErrBusy].
func (k *Manager) SaveAlone() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy {
		return ErrBusy
	}
	k.requestLocked()
	return nil
}

func (k *Manager) requestLocked() <-chan error {
	done := make(chan error, 1)
	k.busy, k.requested = true, append(k.requested, done)
	select {
	case k.requests <- struct{}{}:
	default:
	}
	return done
}

// setBusy records whether a snapshot is being written. It stays true while more are requested.
func (k *Manager) setBusy(saving bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = saving || len(k.requested) > 0
}

func (k *Manager) takeRequests() []chan error {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := k.requested
	k.requested = nil
	return asked
}

// wantsSnapshot reports whether a snapshot is due apart from the schedule.
func (k *Manager) wantsSnapshot() bool {
	if k.snapshotDone != nil || k.Clock() < k.snapshotNotBefore {
		return false
	}
	return k.snapshotNeeded || k.journal != nil && k.oldJournalBytes+k.journal.size > max(k.JournalBytes, k.Status().SnapshotBytes)
}

// startSnapshot begins a snapshot with a new journal. While one is being written, later requests wait for another after it.
func (k *Manager) startSnapshot() {
	asked := k.takeRequests()
	k.snapshotWaiters = append(k.snapshotWaiters, asked...)
	if k.snapshotDone != nil {
		k.snapshotNeeded = k.snapshotNeeded || len(asked) > 0
		return
	}
	if err := k.rotate(); err != nil {
		k.snapshotFailed(err)
		return
	}
	k.setBusy(true)
	k.snapshotNeeded, k.covered = false, true
	k.snapshotDone = make(chan snapshotResult, 1)
	var firstSync func()
	if k.journal != nil {
		firstSync = k.journal.startSync(k.Clock())
	}
	go k.write(k.number, firstSync, k.snapshotDone)
}

// write runs on a separate goroutine. It does the new journal's first sync, so that the flushes do not wait for it, and
// writes a snapshot.
func (k *Manager) write(number uint64, firstSync func(), result chan<- snapshotResult) {
	if firstSync != nil {
		firstSync()
	}
	start := time.Now()
	s := snapshotResult{number: number}
	s.states, s.size, s.err = writeSnapshot(k.FS, k.Store, k.Clock, number, k.rest)
	if s.err == nil {
		s.removal = removeBefore(k.FS, number)
	}
	s.took = time.Since(start)
	result <- s
}

// snapshotRest is the pause of a snapshot between blocks, which hold some 2000 keys each. On a machine with few cores
// decisions would otherwise wait milliseconds for a core.
const snapshotRest = 200 * time.Microsecond

func (k *Manager) rest() {
	if !k.ending.Load() {
		time.Sleep(snapshotRest)
	}
}

// rotate ends the journal and begins the next one: its changes are later than the start of the snapshot with its
// number. The first sync of the new one makes both durable. A journal that could not be synced is given up; policies,
// which are written as operations, are then written again.
func (k *Manager) rotate() error {
	if k.journal == nil {
		k.number++
		return nil
	}
	if !k.journal.broken {
		_, err := k.writeChanges(true)
		if k.note(err); err != nil {
			return err
		}
	}
	next, err := k.journal.startNext()
	if err != nil {
		return err
	}
	if k.journal.broken {
		next.writePolicies(k.Store, k.Clock())
	}
	k.number, k.journal, k.oldJournalBytes = next.number, next, 0
	return nil
}

// finishSnapshot takes the result of a snapshot.
func (k *Manager) finishSnapshot(s snapshotResult) {
	k.snapshotDone = nil
	if s.err != nil {
		k.snapshotFailed(s.err)
		return
	}
	k.setBusy(false)
	st := k.Status()
	st.LastSaveErr, st.LastSave, st.SnapshotBytes, st.SnapshotKeys = nil, k.Clock(), s.size, s.states
	k.status.Store(&st)
	k.Log.Info("wrote a snapshot", "keys", s.states, "bytes", s.size, "took", s.took)
	if s.removal != nil {
		k.Log.Warn("could not remove files that a snapshot has replaced", "reason", s.removal)
	}
	if k.covered {
		k.gap = nil
		k.report()
	}
	if k.snapshotNeeded {
		return // for the requests made since
	}
	if k.journal == nil {
		k.answer(&k.snapshotWaiters, nil)
		return
	}
	// the journal's states replace the snapshot's: they must not be older
	k.completeWaiters = append(k.completeWaiters, k.snapshotWaiters...)
	k.snapshotWaiters, k.completeAt = nil, math.MaxInt64
	k.flush()
	k.completeAt = k.journal.total
	k.answerComplete(k.journalErr)
}

// answerComplete answers the waiters of a complete snapshot once the journal is durable up to its end at that time.
func (k *Manager) answerComplete(err error) {
	if len(k.completeWaiters) > 0 && (err != nil || k.journal.durableTotal() >= k.completeAt) {
		k.answer(&k.completeWaiters, err)
	}
}

// snapshotFailed schedules another snapshot. Only the first failure in a row is logged.
func (k *Manager) snapshotFailed(err error) {
	k.setBusy(false)
	k.snapshotNotBefore, k.snapshotNeeded, k.covered = k.Clock()+int64(resaveEvery), true, false
	st := k.Status()
	if st.LastSaveErr == nil {
		k.Log.Error("could not write a snapshot; the previous one is kept", "reason", err)
	}
	st.LastSaveErr = err
	k.status.Store(&st)
	k.answer(&k.snapshotWaiters, err)
}

func (k *Manager) answer(waiting *[]chan error, err error) {
	for _, done := range *waiting {
		done <- err
	}
	*waiting = nil
}

// removeBefore removes the snapshots and journals that a snapshot has replaced, and unfinished ones left by crashes.
func removeBefore(fs FS, number uint64) error {
	names, err := fs.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		if n, isOurs := numberOf(strings.TrimSuffix(name, tempSuffix)); isOurs && n < number {
			err = errors.Join(err, fs.Remove(name))
		}
	}
	return err
}
