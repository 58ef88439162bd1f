package persistence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
	requests chan request
	waiting  chan struct{} // holds one token while commits wait

	mu      sync.Mutex
	commits []func(error)

	failing atomic.Pointer[failure]
	ending  atomic.Bool // no decisions are left that a snapshot could hold up
	status  atomic.Pointer[Status]

	// what follows belongs to Run
	journal      *journal
	journalErr   error // of the last attempt to write or sync the journal
	number       uint64
	saving       chan saved // of the snapshot being written, nil when none is
	savers       []chan error
	mustSave     bool // the journal alone does not tell all
	flushedUntil int64
	saveAt       int64 // not before this time is another snapshot begun by itself

	// gap is why something flushed may be in memory only, until a snapshot begun since is complete. covered says that the
	// one being written was begun since.
	gap     error
	covered bool
}

type failure struct{ err error }

type request struct {
	done chan error // told when the snapshot is complete; nil if nobody waits
}

type saved struct {
	number uint64
	states int64
	size   int64
	took   time.Duration
	err    error
}

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
	k := &Keeper{Options: o, number: found.next, requests: make(chan request, 16), waiting: make(chan struct{}, 1)}
	k.status.Store(&Status{Mode: o.Mode})
	k.mustSave = found.Repaired
	if o.Mode == SnapshotOnly {
		return k, nil
	}
	var err error
	if k.journal, err = createJournal(o.FS, k.number, found.previous); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	o.Store.Track(true)
	return k, nil
}

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
			k.save(nil)
		case r := <-k.requests:
			k.save(r.done)
		case s := <-k.saving:
			k.saved(s)
		}
		if k.wantsSnapshot() {
			k.save(nil)
		}
		k.publish()
	}
}

// wantsSnapshot reports whether one is due beside the schedule.
func (k *Keeper) wantsSnapshot() bool {
	if k.saving != nil || k.Clock() < k.saveAt {
		return false
	}
	return k.mustSave || k.journal != nil && k.journal.size > max(k.JournalBytes, k.Status().SnapshotBytes)
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

// ErrBusy is returned by Save while a snapshot is being written.
var ErrBusy = errors.New("a snapshot is being written already")

// Save starts a snapshot. done is told when it is complete.
func (k *Keeper) Save() (done <-chan error, err error) {
	c := make(chan error, 1)
	select {
	case k.requests <- request{c}:
		return c, nil
	default:
		return nil, ErrBusy
	}
}

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
	if k.Clock()-j.syncStarted >= int64(SyncEvery) {
		j.startSync(k.Clock())
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

// save begins a snapshot with a journal of its own, unless one is being written: then done waits for another after it.
func (k *Keeper) save(done chan error) {
	if done != nil {
		k.savers = append(k.savers, done)
	}
	if k.saving != nil {
		k.mustSave = k.mustSave || done != nil
		return
	}
	if err := k.rotate(); err != nil {
		k.saveFailed(err)
		return
	}
	k.mustSave, k.covered = false, true
	k.saving = make(chan saved, 1)
	go func(number uint64, result chan<- saved) {
		start := time.Now()
		s := saved{number: number}
		s.states, s.size, s.err = writeSnapshot(k.FS, k.Store, k.Clock, number, k.rest)
		s.took = time.Since(start)
		result <- s
	}(k.number, k.saving)
}

// snapshotRest is how long a snapshot rests between blocks, which hold some 2000 keys each. On a machine with few
// cores decisions would otherwise wait for milliseconds until the system takes the core from it.
const snapshotRest = 200 * time.Microsecond

func (k *Keeper) rest() {
	if !k.ending.Load() {
		time.Sleep(snapshotRest)
	}
}

// rotate ends the journal and begins the next one: what it tells comes after the snapshot of its number was begun. A
// journal that cannot be synced is given up as it is.
func (k *Keeper) rotate() error {
	if k.journal == nil {
		k.number++
		return nil
	}
	if !k.journal.broken {
		if err := k.settle(); err != nil && !k.journal.broken {
			return err
		}
	}
	next, err := createJournal(k.FS, k.number+1, k.journal.synced)
	if err != nil {
		return err
	}
	next.total, next.pending, next.enc = k.journal.total, nil, k.journal.enc
	k.journal.close()
	k.number++
	k.journal = next
	return nil
}

// settle makes everything decided so far durable before it returns.
func (k *Keeper) settle() error {
	_, err := k.writeChanges()
	if err == nil {
		err = k.journal.sync()
	}
	k.note(err)
	return err
}

// saved takes the result of a snapshot.
func (k *Keeper) saved(s saved) {
	k.saving = nil
	if s.err != nil {
		k.saveFailed(s.err)
		return
	}
	st := k.Status()
	st.LastSaveErr, st.LastSave, st.SnapshotBytes, st.SnapshotKeys = nil, k.Clock(), s.size, s.states
	k.status.Store(&st)
	k.Log.Info("wrote a snapshot", "keys", s.states, "bytes", s.size, "took", s.took)
	if k.covered {
		k.gap = nil
		k.report()
	}
	if !k.mustSave && len(k.savers) > 0 {
		var err error
		if k.journal != nil {
			// what the journal tells replaces what is in the snapshot: it must not be older
			err = k.settle()
		}
		k.answerSavers(err)
	}
	if err := removeBefore(k.FS, s.number); err != nil {
		k.Log.Warn("could not remove files that a snapshot has replaced", "reason", err)
	}
}

// saveFailed has another snapshot begun in a while. Only the first failure in a row is logged.
func (k *Keeper) saveFailed(err error) {
	k.saveAt, k.mustSave, k.covered = k.Clock()+int64(resaveEvery), true, false
	st := k.Status()
	if st.LastSaveErr == nil {
		k.Log.Error("could not write a snapshot; what there was before is kept", "reason", err)
	}
	st.LastSaveErr = err
	k.status.Store(&st)
	k.answerSavers(err)
}

func (k *Keeper) answerSavers(err error) {
	for _, done := range k.savers {
		done <- err
	}
	k.savers = nil
}

func (k *Keeper) publish() {
	st := k.Status()
	st.Err, st.Saving = k.Err(), k.saving != nil
	if k.journal != nil {
		st.JournalBytes, st.Journaled, st.FlushedUntil = k.journal.size, k.journal.total, k.flushedUntil
	}
	k.status.Store(&st)
}

// finish writes what is left and a last snapshot.
func (k *Keeper) finish() {
	k.ending.Store(true)
	k.flushNow()
	if k.saving != nil {
		k.saved(<-k.saving)
	}
	k.save(nil)
	if k.saving != nil {
		k.saved(<-k.saving)
	}
	k.flushNow()
	if k.journal != nil {
		if !k.journal.broken {
			k.note(k.journal.sync())
		}
		k.journal.close()
	}
	k.publish()
}

// flushNow flushes without waiting for the time of the next attempt after a failure.
func (k *Keeper) flushNow() {
	if k.journal != nil {
		k.journal.retryAt = 0
	}
	k.flush()
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
