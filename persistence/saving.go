package persistence

import (
	"errors"
	"math"
	"strings"
	"time"
)

// saved is what came of writing a snapshot.
type saved struct {
	number  uint64
	states  int64
	size    int64
	took    time.Duration
	err     error
	removal error // of what it replaces
}

// ErrBusy is returned by SaveAlone while a snapshot is being written.
var ErrBusy = errors.New("a snapshot is being written already")

// Save starts a snapshot, after the one that is being written if there is one. done is told when it is complete and
// nothing in the journal could make what is in it undone.
func (k *Keeper) Save() (done <-chan error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.askLocked()
}

// SaveAlone starts a snapshot unless one is being written or waited for: then it returns [ErrBusy].
func (k *Keeper) SaveAlone() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy {
		return ErrBusy
	}
	k.askLocked()
	return nil
}

func (k *Keeper) askLocked() <-chan error {
	done := make(chan error, 1)
	k.busy, k.asked = true, append(k.asked, done)
	select {
	case k.asking <- struct{}{}:
	default:
	}
	return done
}

// setBusy shows whether a snapshot is being written. It stays so while others are waited for.
func (k *Keeper) setBusy(saving bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = saving || len(k.asked) > 0
}

func (k *Keeper) takeAsked() []chan error {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := k.asked
	k.asked = nil
	return asked
}

// wantsSnapshot reports whether one is due beside the schedule.
func (k *Keeper) wantsSnapshot() bool {
	if k.saving != nil || k.Clock() < k.saveAt {
		return false
	}
	return k.mustSave || k.journal != nil && k.older+k.journal.size > max(k.JournalBytes, k.Status().SnapshotBytes)
}

// save begins a snapshot with a journal of its own. While one is being written, those who ask wait for another after it.
func (k *Keeper) save() {
	asked := k.takeAsked()
	k.savers = append(k.savers, asked...)
	if k.saving != nil {
		k.mustSave = k.mustSave || len(asked) > 0
		return
	}
	if err := k.rotate(); err != nil {
		k.saveFailed(err)
		return
	}
	k.setBusy(true)
	k.mustSave, k.covered = false, true
	k.saving = make(chan saved, 1)
	var found func()
	if k.journal != nil {
		found = k.journal.startSync(k.Clock())
	}
	go k.write(k.number, found, k.saving)
}

// write writes a snapshot, on a goroutine of its own: so is the journal's first sync, which the flushes do not wait for.
func (k *Keeper) write(number uint64, found func(), result chan<- saved) {
	if found != nil {
		found()
	}
	start := time.Now()
	s := saved{number: number}
	s.states, s.size, s.err = writeSnapshot(k.FS, k.Store, k.Clock, number, k.rest)
	if s.err == nil {
		s.removal = removeBefore(k.FS, number)
	}
	s.took = time.Since(start)
	result <- s
}

// snapshotRest is how long a snapshot rests between blocks, which hold some 2000 keys each. On a machine with few
// cores decisions would otherwise wait for milliseconds until the system takes the core from it.
const snapshotRest = 200 * time.Microsecond

func (k *Keeper) rest() {
	if !k.ending.Load() {
		time.Sleep(snapshotRest)
	}
}

// rotate ends the journal and begins the next one: what it tells comes after the snapshot of its number was begun. The
// first sync of the new one makes both durable. A journal that could not be synced is given up as it is; policies, which are
// told by what was done to them, are then told anew.
func (k *Keeper) rotate() error {
	if k.journal == nil {
		k.number++
		return nil
	}
	if !k.journal.broken {
		_, err := k.writeChanges()
		if k.note(err); err != nil {
			return err
		}
	}
	next, err := k.journal.follow()
	if err != nil {
		return err
	}
	if k.journal.broken {
		next.tellPolicies(k.Store, k.Clock())
	}
	k.number, k.journal, k.older = next.number, next, 0
	return nil
}

// saved takes the result of a snapshot.
func (k *Keeper) saved(s saved) {
	k.saving = nil
	if s.err != nil {
		k.saveFailed(s.err)
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
	if k.mustSave {
		return // for those who asked since
	}
	if k.journal == nil {
		k.answer(&k.savers, nil)
		return
	}
	// what the journal tells replaces what is in the snapshot: it must not be older
	k.complete = append(k.complete, k.savers...)
	k.savers, k.completeAt = nil, math.MaxInt64
	k.flush()
	k.completeAt = k.journal.total
	k.tellComplete(k.journalErr)
}

// tellComplete answers those whose snapshot is complete once the journal is durable as far as it was then.
func (k *Keeper) tellComplete(err error) {
	if len(k.complete) > 0 && (err != nil || k.journal.durableTotal() >= k.completeAt) {
		k.answer(&k.complete, err)
	}
}

// saveFailed has another snapshot begun in a while. Only the first failure in a row is logged.
func (k *Keeper) saveFailed(err error) {
	k.setBusy(false)
	k.saveAt, k.mustSave, k.covered = k.Clock()+int64(resaveEvery), true, false
	st := k.Status()
	if st.LastSaveErr == nil {
		k.Log.Error("could not write a snapshot; what there was before is kept", "reason", err)
	}
	st.LastSaveErr = err
	k.status.Store(&st)
	k.answer(&k.savers, err)
}

func (k *Keeper) answer(waiting *[]chan error, err error) {
	for _, done := range *waiting {
		done <- err
	}
	*waiting = nil
}

// removeBefore removes the snapshots and journals that a snapshot has replaced, and what crashes left of unfinished ones.
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
