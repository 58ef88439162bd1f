package persistence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
)

// Mode says when what was decided is on disk.
type Mode string

// The modes, by what they are called in the settings.
const (
	Interval     Mode = "interval" // handed to the kernel within FlushEvery, synced within SyncEvery
	Always       Mode = "always"   // synced before the reply leaves
	SnapshotOnly Mode = "snapshot" // snapshots alone
)

const (
	// FlushEvery is the longest a change stays in the process in the mode interval.
	FlushEvery = 10 * time.Millisecond
	// SyncEvery is the longest a change stays in the kernel in the mode interval.
	SyncEvery = time.Second
	// retryEvery is how long the journal waits after a failure, and resaveEvery a snapshot.
	retryEvery  = 100 * time.Millisecond
	resaveEvery = 5 * time.Second
)

// Options are what a Keeper is made with.
type Options struct {
	FS            FS
	Store         *engine.Store
	Clock         func() int64 // nanoseconds since the Unix epoch
	Log           *slog.Logger
	Mode          Mode
	SnapshotEvery time.Duration // 0 for never on a schedule
	JournalBytes  int64         // a journal larger than this, and than the last snapshot, is replaced by a new snapshot
}

// Keeper keeps a store's state on disk. Run does the work; all other methods may be called from any goroutine.
type Keeper struct {
	Options
	waiting chan struct{} // holds one token while commits wait
	asking  chan struct{} // and this one while snapshots are asked for

	mu      sync.Mutex
	commits []func(error)
	asked   []chan error // told when a snapshot begun since is complete
	busy    bool         // a snapshot is being written or asked for

	failing atomic.Pointer[failure]
	ending  atomic.Bool // no decisions are left that a snapshot could hold up
	noSave  atomic.Bool // no last snapshot
	status  atomic.Pointer[Status]

	// what follows belongs to Run
	journal      *journal
	journalErr   error // of the last attempt to write or sync the journal
	number       uint64
	saving       chan saved // of the snapshot being written, nil when none is
	savers       []chan error
	complete     []chan error // those whose snapshot is: told once the journal is durable up to completeAt
	completeAt   int64
	mustSave     bool  // the journal alone does not tell all
	older        int64 // bytes of journals before this process that a snapshot has yet to replace
	flushedUntil int64
	saveAt       int64 // not before this time is another snapshot begun by itself

	// gap is why something flushed may be in memory only, until a snapshot begun since is complete. covered says that the
	// one being written was begun since.
	gap     error
	covered bool
}

type failure struct{ err error }

// Status is what INFO shows.
type Status struct {
	Mode          Mode
	Err           error // why state is not kept at the moment, nil if it is
	Saving        bool
	LastSave      int64 // Unix nanoseconds, 0 for never
	LastSaveErr   error
	SnapshotBytes int64
	SnapshotKeys  int64
	JournalBytes  int64
	Journaled     int64 // bytes written to journals since the start
	FlushedUntil  int64 // Unix nanoseconds: all decided before is in the kernel's hands at least
}

// NewKeeper starts a journal behind what was recovered.
func NewKeeper(o Options, found Recovered) (*Keeper, error) {
	k := &Keeper{Options: o, number: found.next, waiting: make(chan struct{}, 1), asking: make(chan struct{}, 1)}
	k.status.Store(&Status{Mode: o.Mode})
	k.mustSave, k.older = found.Repaired || found.Journals > maxJournals, found.Bytes
	if o.Mode == SnapshotOnly {
		// What was found has to be what the next start finds: a snapshot that was removed because it could not be made
		// durable may still come back. In the other modes the new journal's name takes care of that.
		if err := o.FS.SyncDir(); err != nil {
			return nil, fmt.Errorf("cannot keep state: %w", err)
		}
		return k, nil
	}
	var err error
	if k.journal, err = createJournal(o.FS, k.number, found.last); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	if o.Mode == Always {
		k.journal.step = roomBytes
	}
	if err = k.journal.sync(); err != nil {
		k.journal.close()
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	o.Store.Track(true)
	return k, nil
}

const (
	// maxJournals is how many journals of runs that were killed are left to a later snapshot.
	maxJournals = 8
	// roomBytes is how much of a journal that every reply waits for is filled with zeros beforehand, at a time.
	roomBytes = 256 << 10
)

// Run keeps state until ctx is done, then writes what is left and a last snapshot.
func (k *Keeper) Run(ctx context.Context) {
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
			k.save()
		case <-k.asking:
			k.save()
		case s := <-k.saving:
			k.saved(s)
		}
		if k.wantsSnapshot() {
			k.save()
		}
		k.publish()
	}
}

// Commit calls done once everything decided so far is durable, or with the error that keeps it from being so. It is for
// the mode [Always].
func (k *Keeper) Commit(done func(error)) {
	k.mu.Lock()
	k.commits = append(k.commits, done)
	k.mu.Unlock()
	select {
	case k.waiting <- struct{}{}:
	default:
	}
}

// Err is why state is not kept at the moment, nil if it is.
func (k *Keeper) Err() error {
	if f := k.failing.Load(); f != nil {
		return f.err
	}
	return nil
}

// Status returns what INFO shows.
func (k *Keeper) Status() Status { return *k.status.Load() }

func (k *Keeper) takeCommits() []func(error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	commits := k.commits
	k.commits = nil
	return commits
}

// flush writes what has changed, and answers the commits that waited for it.
func (k *Keeper) flush() {
	if k.journal == nil {
		return
	}
	commits := k.takeCommits() // first: what they wait for is in the store already
	err := k.journalErr
	if err == nil || k.Clock() >= k.journal.retryAt {
		var complete bool
		began := k.Clock()
		if complete, err = k.writeChanges(); err == nil {
			k.flushedUntil = began
			err = k.sync(len(commits) > 0 || k.Mode == Always)
		}
		k.note(err)
		if err == nil && !complete {
			err = errIncomplete
		}
	}
	k.tellComplete(err)
	for _, done := range commits {
		done(err)
	}
}

var errIncomplete = errors.New("more was deleted at once than the journal notes; a new snapshot will tell")

// writeChanges hands everything that has changed to the kernel, what a failure left pending first.
func (k *Keeper) writeChanges() (complete bool, err error) {
	j := k.journal
	if err := j.write(); err != nil {
		return false, err
	}
	complete = true
	if k.Store.HasChanges() {
		complete = j.collect(k.Store, k.Clock())
		k.mustSave = k.mustSave || !complete
	}
	j.vouch(k.Clock())
	return complete, j.write()
}

// sync has the journal synced: at once where replies wait for it, else beside the flushes once a second.
func (k *Keeper) sync(now bool) error {
	j := k.journal
	if now {
		return j.sync()
	}
	if err := j.syncResult(); err != nil {
		return err
	}
	if len(k.complete) > 0 || k.Clock()-j.syncStarted >= int64(SyncEvery) {
		if run := j.startSync(k.Clock()); run != nil {
			go run()
		}
	}
	return nil
}

// note remembers what has come of an attempt to write or sync the journal.
func (k *Keeper) note(err error) {
	if k.journalErr = err; err != nil {
		k.journal.retryAt = k.Clock() + int64(retryEvery)
	}
	if k.journal.broken { // a failed sync may have dropped anything: only new files can be trusted
		k.mustSave, k.covered = true, false
		if k.gap == nil {
			k.gap = err
		}
	}
	k.report()
}

// report shows and logs a failure when it begins and when it ends. In the mode always nothing in a gap was acknowledged,
// so that it is over with a new journal.
func (k *Keeper) report() {
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

func (k *Keeper) publish() {
	st := k.Status()
	st.Err, st.Saving = k.Err(), k.saving != nil
	if k.journal != nil {
		st.JournalBytes, st.Journaled, st.FlushedUntil = k.journal.size, k.journal.total, k.flushedUntil
	}
	k.status.Store(&st)
}

// SkipLastSnapshot has Run end without a snapshot. What is in the journal is kept all the same.
func (k *Keeper) SkipLastSnapshot() { k.noSave.Store(true) }

// finish writes what is left and a last snapshot.
func (k *Keeper) finish() {
	k.ending.Store(true)
	k.flushNow()
	if k.saving != nil {
		k.saved(<-k.saving)
	}
	if !k.noSave.Load() {
		k.save()
		if k.saving != nil {
			k.saved(<-k.saving)
		}
	}
	k.flushNow()
	if k.journal != nil {
		if err := k.journal.finish(); k.journalErr == nil {
			k.note(err)
		}
		k.tellComplete(k.journalErr)
	}
	k.sayLost()
	k.publish()
}

// sayLost logs that the process ends with something that is not on disk.
func (k *Keeper) sayLost() {
	err := k.Err()
	if k.journal == nil && !k.noSave.Load() {
		err = k.Status().LastSaveErr
	}
	if err != nil {
		k.Log.Error("stopped although the last changes could not be kept on disk; they are lost", "reason", err)
	}
}

// flushNow flushes without waiting for the time of the next attempt after a failure.
func (k *Keeper) flushNow() {
	if k.journal != nil {
		k.journal.retryAt = 0
	}
	k.flush()
}
