package persistence

import (
	"errors"
	"math"

	"github.com/stintdb/stint/engine"
)

// journal is the journal being written. It belongs to the goroutine of [Keeper.Run], but for a sync in progress; once the
// next one was begun, to that one's first sync.
type journal struct {
	fs      FS
	file    File
	number  uint64
	size    int64 // bytes written whole
	total   int64 // of this and all journals before it in this process
	synced  int64 // bytes known to be durable, 0 before the first sync
	pending []byte
	torn    bool // a write failed: there may be a part of a block behind size
	broken  bool // a sync failed: nothing written since the one before can be trusted to be there
	vouched bool // a block says that the header is durable
	retryAt int64
	tried   uint64 // to begin the next one
	enc     encoder

	before      *journal // what the first sync has to make durable as well, nil after it
	syncing     chan syncResult
	syncStarted int64

	step     int64 // room is made for so many bytes at a time, 0 for none
	reserved int64 // bytes there is room for
}

type syncResult struct {
	size int64
	err  error
}

// createJournal begins a journal. Neither its header nor its name are durable before its first sync.
func createJournal(fs FS, number uint64, l lineage) (*journal, error) {
	file, err := fs.Create(fileName(journalPrefix, number))
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteAt(journalHeader(number, l), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{fs: fs, file: file, number: number, size: headerBytes, vouched: true}, nil
}

// follow begins the journal after j, from now on j's owner. Nothing in it counts as durable before all of j does, unless j
// is broken: then that is given up.
func (j *journal) follow() (*journal, error) {
	l := lineage{before: j.number, durable: j.synced, ended: j.size}
	if j.broken {
		l.ended = l.durable
	}
	j.tried++ // an attempt that failed may have left a header: no other takes its number
	next, err := createJournal(j.fs, j.number+j.tried, l)
	if err != nil {
		return nil, err
	}
	next.total, next.enc, next.step = j.total, j.enc, j.step
	if j.broken {
		j.close()
	} else {
		next.before, next.vouched = j, false
	}
	return next, nil
}

// collect takes all changes from the store into blocks to be written.
func (j *journal) collect(store *engine.Store, now int64) (complete bool) {
	j.enc.start(now)
	complete = store.Changes(now, func(c engine.Change) {
		if j.enc.change(c); len(j.enc.buf) >= fullBlockBytes {
			j.seal(now)
		}
	})
	if !j.enc.isEmpty() {
		j.seal(now)
	}
	return complete
}

// tellPolicies notes all policies anew.
func (j *journal) tellPolicies(store *engine.Store, now int64) {
	j.enc.start(now)
	j.enc.change(engine.Change{Kind: engine.PoliciesForgotten})
	store.PolicyOps(func(op *engine.Op) {
		if j.enc.policy(op); len(j.enc.buf) >= fullBlockBytes {
			j.seal(now)
		}
	})
	j.seal(now)
}

// vouch notes, in an empty block if there is no other, that this journal, and so all of the one before, is durable: what is
// found missing there afterwards was not torn by a crash.
func (j *journal) vouch(now int64) {
	if !j.vouched && j.synced > 0 && len(j.pending) == 0 {
		j.enc.start(now)
		j.seal(now)
	}
}

func (j *journal) seal(now int64) {
	j.enc.setSynced(j.synced)
	j.enc.buf = sealBlock(j.enc.buf, j.number, j.size+int64(len(j.pending)))
	j.pending = append(j.pending, j.enc.buf...)
	j.vouched = j.vouched || j.synced > 0
	j.enc.start(now)
}

// keepPending is the largest buffer of pending blocks that is kept for the next flush.
const keepPending = 1 << 20

// write hands the pending blocks to the kernel. After a failure they stay pending.
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

// makeRoom writes zeros behind what is about to be written. Blocks that replace them later need only their own bytes
// to be written by a sync, and neither the file's size nor its place on the disk.
func (j *journal) makeRoom(end int64) {
	if j.step == 0 || end <= j.reserved {
		return
	}
	if _, err := j.file.WriteAt(make([]byte, j.step), end); err != nil {
		j.reserved = math.MaxInt64 // a disk that is nearly full; the blocks themselves may fit
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

// makeDurable syncs what was written; the first time, the journal before and the names too.
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
		_ = j.file.Truncate(j.size) // room that was not needed does no harm
	}
	return j.sync()
}

// startSync returns what syncs everything written so far, to be called beside the flushes; nil if that is not needed, or
// under way.
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
	return nil
}

// durableTotal is how much of total is known to be durable.
func (j *journal) durableTotal() int64 { return j.total - (j.size - j.synced) }

var errBroken = errors.New("the journal could not be synced to disk; a new snapshot is needed")

// close gives up a journal, or what there is to close of one that is durable.
func (j *journal) close() {
	if j.syncing != nil {
		<-j.syncing
	}
	if j.before != nil {
		j.before.close()
	}
	_ = j.file.Close() // synced before, or given up
}
