package persistence

import (
	"errors"

	"github.com/stintdb/stint/engine"
)

// journal is the journal being written. It belongs to the goroutine of [Keeper.Run], but for a sync in progress.
type journal struct {
	file    File
	number  uint64
	size    int64 // bytes written whole
	total   int64 // of this and all journals before it in this process
	synced  int64 // bytes known to be durable
	pending []byte
	torn    bool // a write failed: there may be a part of a block behind size
	broken  bool // a sync failed: nothing written since the one before can be trusted to be there
	retryAt int64
	enc     encoder

	syncing     chan syncResult // nil when no sync is in progress
	syncStarted int64
}

type syncResult struct {
	size int64
	err  error
}

func createJournal(fs FS, number uint64, previous int64) (*journal, error) {
	file, err := fs.Create(fileName(journalPrefix, number))
	if err != nil {
		return nil, err
	}
	_, err = file.Write(appendHeader(nil, journalMagic, number, previous))
	if err = errors.Join(err, file.Sync(), fs.SyncDir()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{file: file, number: number, size: headerBytes, synced: headerBytes}, nil
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

func (j *journal) seal(now int64) {
	j.enc.setSynced(j.synced)
	j.enc.buf = sealBlock(j.enc.buf, j.number, j.size+int64(len(j.pending)))
	j.pending = append(j.pending, j.enc.buf...)
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
		j.torn = false
	}
	if len(j.pending) == 0 {
		return nil
	}
	if _, err := j.file.Write(j.pending); err != nil {
		j.torn = true
		return err
	}
	j.size += int64(len(j.pending))
	j.total += int64(len(j.pending))
	if j.pending = j.pending[:0]; cap(j.pending) > keepPending {
		j.pending = nil
	}
	return nil
}

// sync makes everything written durable before it returns.
func (j *journal) sync() error {
	if err := j.waitSync(); err != nil {
		return err
	}
	if j.synced == j.size {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		j.broken = true
		return err
	}
	j.synced = j.size
	return nil
}

// startSync syncs beside the flushes.
func (j *journal) startSync(now int64) {
	if j.syncing != nil || j.synced == j.size {
		return
	}
	j.syncStarted = now
	j.syncing = make(chan syncResult, 1)
	go func(size int64, result chan<- syncResult) { result <- syncResult{size, j.file.Sync()} }(j.size, j.syncing)
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
	if j.broken {
		return errBroken
	}
	return nil
}

// waitSync waits for the sync in progress, if there is one.
func (j *journal) waitSync() error {
	if j.syncing != nil {
		return j.took(<-j.syncing)
	}
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

var errBroken = errors.New("the journal could not be synced to disk; a new snapshot is needed")

func (j *journal) close() {
	if j.syncing != nil {
		<-j.syncing
	}
	_ = j.file.Close() // synced before, or given up
}
