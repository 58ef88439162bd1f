package persistence

import (
	"errors"
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// journal is the journal being written. It belongs to the goroutine of [Manager.Run], except a sync in progress; once
// the next one has begun, it belongs to that one's first sync.
type journal struct {
	fs      disk.FS
	in      *disk.Manifest // of the directory
	file    disk.File
	number  uint64
	size    int64 // bytes of whole writes
	total   int64 // of this and all journals before it in this process
	synced  int64 // bytes known to be durable, 0 before the first sync
	pending []byte
	torn    bool // a write failed: part of a block may follow size
	broken  bool // a sync failed: bytes written since the one before may be lost
	marked  bool // a block records that the header is durable
	retryAt int64
	tried   uint64 // number of the last attempt to begin the next one
	enc     encoder

	before      *journal // the predecessor, which the first sync must make durable too; nil after it
	syncing     chan syncResult
	syncStarted int64

	step     int64 // bytes to preallocate at a time, 0 for none
	reserved int64 // bytes preallocated
}

type syncResult struct {
	size int64
	err  error
}

// createJournal begins a journal. Neither its header nor its name are durable before its first sync.
func createJournal(fs disk.FS, in *disk.Manifest, number uint64, l disk.Predecessor) (*journal, error) {
	file, err := fs.Create(disk.FileName(disk.JournalPrefix, number))
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteAt(disk.JournalHeader(number, l, in.Identity(), in.Claims().Snapshot), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{fs: fs, in: in, file: file, number: number, size: disk.HeaderBytes, marked: true}, nil
}

// startNext begins the journal after j, which from now on owns j. Its contents do not count as durable before all of j
// is, unless j is broken: then j is given up.
func (j *journal) startNext() (*journal, error) {
	l := disk.Predecessor{Before: j.number, Durable: j.synced, Ended: j.size}
	if j.broken {
		l.Ended = l.Durable
	}
	j.tried++ // a failed attempt may have left a header, so its number is not reused
	next, err := createJournal(j.fs, j.in, j.number+j.tried, l)
	if err != nil {
		return nil, err
	}
	next.total, next.enc, next.step = j.total, j.enc, j.step
	if j.broken {
		j.close()
	} else {
		next.before, next.marked = j, false
	}
	return next, nil
}

// collected is the result of collect.
type collected struct {
	complete   bool  // all deletions are included
	left       bool  // large states were left for later
	largeBytes int64 // of the large states taken
}

// collect takes changes from the store into pending blocks: all changes, or all except large states.
func (j *journal) collect(keys *store.Store, now int64, all bool) (c collected) {
	j.enc.start(now)
	take := func(change keyspace.Change) {
		if size := len(change.Entry.State); size > store.LargeState {
			c.largeBytes += int64(size)
		}
		if j.enc.change(change); len(j.enc.buf) >= disk.FullBlockBytes {
			j.seal(now)
		}
	}
	if all {
		c.complete = keys.Changes(now, take)
	} else {
		c.complete, c.left = keys.SmallChanges(now, take)
	}
	if !j.enc.isEmpty() {
		j.seal(now)
	}
	return c
}

// writePolicies writes all policies again.
func (j *journal) writePolicies(keys *store.Store, now int64) {
	j.enc.start(now)
	j.enc.change(keyspace.Change{Kind: keyspace.PoliciesForgotten})
	keys.PolicyOps(func(op *engine.Op) {
		if j.enc.policy(op); len(j.enc.buf) >= disk.FullBlockBytes {
			j.seal(now)
		}
	})
	j.seal(now)
}

// markDurable records, in an empty block if there is no other, that this journal's header, and so the whole previous
// journal, is durable. If data is missing there later, it was not torn by a crash.
func (j *journal) markDurable(now int64) {
	if !j.marked && j.synced > 0 && len(j.pending) == 0 {
		j.enc.start(now)
		j.seal(now)
	}
}

func (j *journal) seal(now int64) {
	j.enc.setSynced(j.synced)
	j.enc.buf = disk.SealBlock(j.enc.buf, j.number, j.size+int64(len(j.pending)))
	j.pending = append(j.pending, j.enc.buf...)
	j.marked = j.marked || j.synced > 0
	j.enc.start(now)
}

// keepPending is the largest buffer of pending blocks to reuse for the next flush.
const keepPending = 1 << 20

// write passes the pending blocks to the kernel. After a failure they stay pending.
func (j *journal) write() error {
	if j.torn {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
		j.torn, j.reserved = false, 0
	}
	if len(j.pending) == 0 {
		return nil
	}
	end := j.size + int64(len(j.pending))
	j.makeRoom(end)
	if _, err := j.file.WriteAt(j.pending, j.size); err != nil {
		j.torn = true
		return err
	}
	j.size = end
	j.total += int64(len(j.pending))
	if j.pending = j.pending[:0]; cap(j.pending) > keepPending {
		j.pending = nil
	}
	return nil
}

// makeRoom writes zeros after the blocks about to be written. When later blocks replace them, a sync writes only the
// blocks' bytes, and neither the file's size nor its position on the disk.
func (j *journal) makeRoom(end int64) {
	if j.step == 0 || end <= j.reserved {
		return
	}
	if _, err := j.file.WriteAt(make([]byte, j.step), end); err != nil {
		j.reserved = math.MaxInt64 // the disk is nearly full; the blocks themselves may fit
		return
	}
	j.reserved = end + j.step
}

// sync makes everything written durable before it returns.
func (j *journal) sync() error {
	if err := j.waitSync(); err != nil {
		return err
	}
	if j.synced == j.size {
		return nil
	}
	return j.took(syncResult{j.size, j.makeDurable()})
}

// makeDurable syncs the written blocks. The first time it also syncs the previous journal and the names.
func (j *journal) makeDurable() error {
	if j.synced > 0 {
		return j.file.Sync()
	}
	if j.before != nil {
		if err := j.before.finish(); err != nil {
			return err
		}
		j.before = nil
	}
	return errors.Join(j.file.Sync(), j.fs.SyncDir())
}

// finish makes all of a journal durable and closes it.
func (j *journal) finish() error {
	defer j.close()
	if j.reserved > j.size {
		_ = j.file.Truncate(j.size) // unused room does no harm
	}
	return j.sync()
}

// startSync returns a function that syncs everything written so far, to run concurrently with the flushes. It is nil if
// no sync is needed, or one is in progress.
func (j *journal) startSync(now int64) (run func()) {
	if j.syncing != nil || j.synced == j.size {
		return nil
	}
	j.syncStarted = now
	size, result := j.size, make(chan syncResult, 1)
	j.syncing = result
	return func() { result <- syncResult{size, j.makeDurable()} }
}

// syncResult takes the result of a sync that has ended.
func (j *journal) syncResult() error {
	if j.syncing != nil {
		select {
		case r := <-j.syncing:
			return j.took(r)
		default:
		}
	}
	return j.trusted()
}

// waitSync waits for the sync in progress, if there is one.
func (j *journal) waitSync() error {
	if j.syncing != nil {
		return j.took(<-j.syncing)
	}
	return j.trusted()
}

func (j *journal) trusted() error {
	if j.broken {
		return errBroken
	}
	return nil
}

func (j *journal) took(r syncResult) error {
	j.syncing = nil
	if r.err != nil {
		j.broken = true
		return r.err
	}
	j.synced = max(j.synced, r.size)
	return j.in.IsDurable(j.number, j.synced)
}

// durableTotal is the part of total that is known to be durable.
func (j *journal) durableTotal() int64 { return j.total - (j.size - j.synced) }

var errBroken = errors.New("the journal could not be synced to disk; a new snapshot is needed")

// close closes the files of a journal that is durable or given up.
func (j *journal) close() {
	if j.syncing != nil {
		<-j.syncing
	}
	if j.before != nil {
		j.before.close()
	}
	_ = j.file.Close() // synced before, or given up
}
