package persistence

import (
	"errors"
	"io"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// scanChunk is the number of entries that a snapshot takes from the store at a time, under one lock.
const scanChunk = 256

// writeSnapshot writes a snapshot to a temporary file and renames it once it is whole and durable. Changes during that
// time are in the journal of the same number. rest is called between blocks.
func writeSnapshot(fs disk.FS, keys *store.Store, clock func() int64, number, identity uint64, rest func()) (states, size int64, err error) {
	name := disk.FileName(disk.SnapshotPrefix, number)
	file, err := fs.Create(name + disk.TempSuffix)
	if err != nil {
		return 0, 0, err
	}
	states, size, err = writeStates(file, keys, clock, number, identity, rest)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		if err = fs.Rename(name+disk.TempSuffix, name); err == nil {
			err = fs.SyncDir()
		}
	}
	if err != nil {
		_ = fs.Remove(name + disk.TempSuffix) // otherwise the next snapshot removes it
		return 0, 0, err
	}
	return states, size, nil
}

func writeStates(to io.Writer, keys *store.Store, clock func() int64, number, identity uint64, rest func()) (states, size int64, err error) {
	w := &blockWriter{to: to, number: number, rest: rest}
	w.write(disk.Header(disk.SnapshotMagic, number, int64(keys.Len()), 0, 0, int64(identity)))
	w.enc.start(clock())
	keys.PolicyOps(func(op *engine.Op) { w.enc.policy(op); w.flushFull(clock()) })
	for cursor, more := uint64(0), true; more && w.err == nil; more = cursor != 0 {
		now := clock()
		cursor = keys.Scan(cursor, scanChunk, now, w.enc.entry)
		states += int64(w.enc.states)
		w.enc.states = 0
		w.flushFull(now)
	}
	w.enc.end(states)
	w.flush(clock())
	return states, w.offset, w.err
}

// blockWriter writes blocks one after the other, until an error.
type blockWriter struct {
	to     io.Writer
	number uint64
	offset int64
	enc    encoder
	rest   func() // called between blocks
	err    error
}

func (w *blockWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.offset += int64(len(b))
	}
}

func (w *blockWriter) flushFull(now int64) {
	if len(w.enc.buf) >= disk.FullBlockBytes {
		w.flush(now)
		w.rest()
	}
}

func (w *blockWriter) flush(now int64) {
	w.enc.buf = disk.SealBlock(w.enc.buf, w.number, w.offset)
	w.write(w.enc.buf)
	w.enc.start(now)
}
