package persistence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/persistencestatus"
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
	// LargeBytesPerSecond bounds the rate at which states of more than [engine.LargeState] bytes are written in the
	// mode interval. A state is always written as a whole; the next large states wait for the time that its bytes take
	// at this rate. So one of 2 MB stays in the process for an eighth of a second in place of FlushEvery.
	LargeBytesPerSecond = 16 << 20
	// retryEvery is how long the journal waits after a failure, and resaveEvery a snapshot.
	retryEvery  = 100 * time.Millisecond
	resaveEvery = 5 * time.Second
)

// Options configure a [Manager].
type Options struct {
	FS            FS
	Store         *engine.Store
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
	k := &Manager{Options: o, number: found.next, waiting: make(chan struct{}, 1), requests: make(chan struct{}, 1)}
	k.status.Store(&persistencestatus.Status{Mode: string(o.Mode)})
	k.snapshotNeeded, k.oldJournalBytes = found.Repaired || found.Journals > maxJournals, found.Bytes
	if o.Mode == SnapshotOnly {
		// The next start must find the same files: a snapshot that was removed because it could not be made durable may
		// still come back. In the other modes the new journal's name prevents that.
		if err := o.FS.SyncDir(); err != nil {
			return nil, fmt.Errorf("cannot keep state: %w", err)
		}
		return k, nil
	}
	var err error
	if k.journal, err = createJournal(o.FS, k.number, found.last); err != nil {
		k.journal = &journal{fs: o.FS, file: noFile{err}, number: k.number, broken: true}
	} else if err = k.journal.sync(); err != nil {
		k.journal.broken = true
	}
	if err != nil && !isFull(err) {
		k.journal.close()
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	if o.Mode == Always {
		k.journal.step = roomBytes
	}
	o.Store.Track(true)
	if err != nil { // as if the disk had become full a moment later: not fatal
		k.note(err)
	}
	return k, nil
}

// isFull reports whether a disk is full, which is temporary.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

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
func (k *Manager) Run(ctx context.Context) {
	flush := time.NewTicker(FlushEvery)
	defer flush.Stop()
	var schedule <-chan time.Time
	if k.SnapshotEvery > 0 {
		tick := time.NewTicker(k.SnapshotEvery)
		defer tick.Stop()
		schedule = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			k.finish()
			return
		case <-k.waiting:
			k.flush()
		case <-flush.C:
			k.flush()
		case <-schedule:
			k.startSnapshot()
		case <-k.requests:
			k.startSnapshot()
		case s := <-k.snapshotDone:
			k.finishSnapshot(s)
		}
		if k.wantsSnapshot() {
			k.startSnapshot()
		}
		k.publish()
	}
}

// Commit calls done once all decisions so far are durable, or with the error that prevents it. It is for the mode
// [Always].
func (k *Manager) Commit(done func(error)) {
	k.mu.Lock()
	k.commits = append(k.commits, done)
	k.mu.Unlock()
	select {
	case k.waiting <- struct{}{}:
	default:
	}
}

// Err is the reason why state is not written at the moment, nil if it is.
func (k *Manager) Err() error {
	if f := k.failing.Load(); f != nil {
		return f.err
	}
	return nil
}

// Status returns the status that INFO and the metrics show.
func (k *Manager) Status() persistencestatus.Status {
	st := *k.status.Load()
	st.Err = k.Err()
	return st
}

func (k *Manager) takeCommits() []func(error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	commits := k.commits
	k.commits = nil
	return commits
}

// flush writes the changes, and answers the commits that waited for it.
func (k *Manager) flush() {
	if k.journal == nil {
		return
	}
	commits := k.takeCommits() // first, because the changes they wait for are already in the store
	err := k.journalErr
	if err == nil || k.Clock() >= k.journal.retryAt {
		now := len(commits) > 0 || k.Mode == Always
		began := k.Clock()
		var c collected
		if c, err = k.writeChanges(now || len(k.completeWaiters) > 0 || k.ending.Load() || began >= k.largeNotBefore); err == nil {
			if !c.left {
				k.flushedUntil = began
			}
			err = k.sync(now)
		}
		k.note(err)
		if err == nil && !c.complete {
			err = errIncomplete
		}
	}
	k.answerComplete(err)
	for _, done := range commits {
		done(err)
	}
}

var errIncomplete = errors.New("more keys were deleted at once than the journal can record; a new snapshot follows")

// writeChanges passes the changes to the kernel, first those that a failure left pending: all of them, or all except
// large states.
func (k *Manager) writeChanges(all bool) (c collected, err error) {
	j := k.journal
	if err := j.write(); err != nil {
		return c, err
	}
	c.complete = true
	if k.Store.HasChanges() {
		now := k.Clock()
		c = j.collect(k.Store, now, all)
		k.snapshotNeeded = k.snapshotNeeded || !c.complete
		if c.largeBytes > 0 {
			k.largeNotBefore = now + int64(time.Duration(c.largeBytes/(LargeBytesPerSecond/1000))*time.Millisecond)
		}
	}
	j.markDurable(k.Clock())
	return c, j.write()
}

// sync syncs the journal: at once if replies wait for it, otherwise once a second, concurrently with the flushes.
func (k *Manager) sync(now bool) error {
	j := k.journal
	if now {
		return j.sync()
	}
	if err := j.syncResult(); err != nil {
		return err
	}
	if len(k.completeWaiters) > 0 || k.Clock()-j.syncStarted >= int64(SyncEvery) {
		if run := j.startSync(k.Clock()); run != nil {
			go run()
		}
	}
	return nil
}

// note records the outcome of an attempt to write or sync the journal.
func (k *Manager) note(err error) {
	if k.journalErr = err; err != nil {
		k.journal.retryAt = k.Clock() + int64(retryEvery)
	}
	if k.journal.broken { // a failed sync may have dropped any data, so only new files are reliable
		k.snapshotNeeded, k.covered = true, false
		if k.gap == nil {
			k.gap = err
		}
	}
	k.report()
}

// report shows and logs a failure when it begins and when it ends. In the mode always no change in a gap was
// acknowledged, so a new journal ends the gap.
func (k *Manager) report() {
	err := k.journalErr
	if err == nil && k.Mode != Always {
		err = k.gap
	}
	switch was := k.failing.Load(); {
	case err != nil && was == nil:
		k.failing.Store(&failure{err})
		k.Log.Error("state is not kept on disk at the moment; decisions go on, or are refused in the mode always", "reason", err)
	case err == nil && was != nil:
		k.failing.Store(nil)
		k.Log.Info("state is kept on disk again")
	}
}

func (k *Manager) publish() {
	st := k.Status()
	st.Saving = k.snapshotDone != nil
	if k.journal != nil {
		st.JournalBytes, st.Journaled, st.FlushedUntil = k.journal.size, k.journal.total, k.flushedUntil
	}
	k.status.Store(&st)
}

// SkipLastSnapshot makes Run end without a snapshot. The journal is kept.
func (k *Manager) SkipLastSnapshot() { k.skipLast.Store(true) }

// finish writes the remaining changes and a last snapshot.
func (k *Manager) finish() {
	k.ending.Store(true)
	k.flushNow()
	if k.snapshotDone != nil {
		k.finishSnapshot(<-k.snapshotDone)
	}
	if !k.skipLast.Load() {
		k.startSnapshot()
		if k.snapshotDone != nil {
			k.finishSnapshot(<-k.snapshotDone)
		}
	}
	k.flushNow()
	if k.journal != nil {
		if err := k.journal.finish(); k.journalErr == nil {
			k.note(err)
		}
		k.answerComplete(k.journalErr)
	}
	k.logLost()
	k.publish()
}

// logLost logs that the process ends with changes that are not on disk.
func (k *Manager) logLost() {
	err := k.Err()
	if k.journal == nil && !k.skipLast.Load() {
		err = k.Status().LastSaveErr
	}
	if err != nil {
		k.Log.Error("stopped although the last changes could not be kept on disk; they are lost", "reason", err)
	}
}

// flushNow flushes without waiting for the time of the next attempt after a failure.
func (k *Manager) flushNow() {
	if k.journal != nil {
		k.journal.retryAt = 0
	}
	k.flush()
}
