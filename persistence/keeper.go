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
	requests chan request
	waiting  chan struct{} // holds one token while commits wait

	mu      sync.Mutex
	commits []func(error)

	failing atomic.Pointer[failure]
	status  atomic.Pointer[Status]

	// what follows belongs to Run
	journal  *journal
	number   uint64
	saving   chan saved // of the snapshot being written, nil when none is
	savers   []chan error
	mustSave bool  // the journal alone does not tell all
	saveAt   int64 // not before this time is another snapshot begun by itself
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
	err := k.Err()
	if err == nil || k.Clock() >= k.journal.retryAt {
		err = k.writeChanges()
	}
	if err == nil {
		err = k.sync(len(commits) > 0 || k.Mode == Always)
	}
	k.note(err)
	for _, done := range commits {
		done(err)
	}
}

func (k *Keeper) writeChanges() error {
	j := k.journal
	if len(j.pending) == 0 && k.Store.HasChanges() {
		complete := j.collect(k.Store, k.Clock())
		k.mustSave = k.mustSave || !complete
	}
	return j.write()
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

// note remembers and logs a failure when it begins and when it ends.
func (k *Keeper) note(err error) {
	switch was := k.failing.Load(); {
	case err != nil:
		k.journal.retryAt = k.Clock() + int64(retryEvery)
		if was == nil {
			k.failing.Store(&failure{err})
			k.Log.Error("state is not kept on disk at the moment; decisions go on, or are refused in the mode always", "reason", err)
		}
	case was != nil:
		k.failing.Store(nil)
		k.Log.Info("state is kept on disk again")
	}
	if k.journal.broken {
		k.mustSave = true // a failed sync may have dropped anything: only new files can be trusted
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
		if k.journal != nil {
			k.note(err)
		}
		k.finishSave(saved{err: err})
		return
	}
	k.mustSave = false
	k.saving = make(chan saved, 1)
	go func(number uint64, result chan<- saved) {
		start := time.Now()
		s := saved{number: number}
		s.states, s.size, s.err = writeSnapshot(k.FS, k.Store, k.Clock, number)
		s.took = time.Since(start)
		result <- s
	}(k.number, k.saving)
}

// rotate ends the journal and begins the next one: what it tells comes after the snapshot of its number was begun.
func (k *Keeper) rotate() error {
	if k.journal == nil {
		k.number++
		return nil
	}
	durable := int64(0)
	if !k.journal.broken {
		if err := errors.Join(k.writeChanges(), k.journal.sync()); err != nil {
			return err
		}
		durable = k.journal.size
	}
	next, err := createJournal(k.FS, k.number+1, durable)
	if err != nil {
		return err
	}
	next.total, next.pending, next.enc = k.journal.total, nil, k.journal.enc
	k.journal.close()
	k.number++
	k.journal = next
	return nil
}

func (k *Keeper) saved(s saved) {
	k.saving = nil
	k.finishSave(s)
	if s.err != nil {
		k.Log.Error("could not write a snapshot; what there was before is kept", "reason", s.err)
		return
	}
	k.Log.Info("wrote a snapshot", "keys", s.states, "bytes", s.size, "took", s.took)
	if err := removeBefore(k.FS, s.number); err != nil {
		k.Log.Warn("could not remove files that a snapshot has replaced", "reason", err)
	}
}

func (k *Keeper) finishSave(s saved) {
	st := k.Status()
	if st.LastSaveErr = s.err; s.err != nil {
		k.saveAt = k.Clock() + int64(resaveEvery)
		k.mustSave = true
	}
	if s.err == nil {
		st.LastSave, st.SnapshotBytes, st.SnapshotKeys = k.Clock(), s.size, s.states
	}
	k.status.Store(&st)
	if !k.mustSave || s.err != nil {
		for _, done := range k.savers {
			done <- s.err
		}
		k.savers = nil
	}
}

func (k *Keeper) publish() {
	st := k.Status()
	st.Err, st.Saving = k.Err(), k.saving != nil
	if k.journal != nil {
		st.JournalBytes, st.Journaled = k.journal.size, k.journal.total
	}
	k.status.Store(&st)
}

// finish writes what is left and a last snapshot.
func (k *Keeper) finish() {
	k.flush()
	if k.saving != nil {
		k.saved(<-k.saving)
	}
	k.save(nil)
	if k.saving != nil {
		k.saved(<-k.saving)
	}
	k.flush()
	if k.journal != nil {
		k.note(k.journal.sync())
		k.journal.close()
	}
	k.publish()
}

// removeBefore removes the snapshots and journals that a snapshot has replaced.
func removeBefore(fs FS, number uint64) error {
	names, err := fs.List()
	if err != nil {
		return err
	}
	for _, prefix := range []string{journalPrefix, snapshotPrefix} {
		for _, n := range numbers(names, prefix) {
			if n < number {
				err = errors.Join(err, fs.Remove(fileName(prefix, n)))
			}
		}
	}
	return err
}
