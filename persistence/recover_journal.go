package persistence

import (
	"errors"
	"io"

	"github.com/stintdb/stint/persistence/disk"
)

// journal reads a journal, unless a crash has torn the end of its predecessor.
func (r *recovery) journal(number uint64) error {
	name := disk.FileName(disk.JournalPrefix, number)
	in, err := r.fs.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	blocks, err := disk.NewBlockReader(name, in, disk.JournalMagic)
	if end, read := r.ends[blocks.Predecessor.Before]; err == nil && read && blocks.Predecessor.Ended > end {
		return r.discard(blocks)
	}
	hint := int64(0)
	isWhole := false // the block with the error
	for err == nil {
		var payload []byte
		if payload, err = blocks.Next(); err == nil {
			hint = max(hint, disk.SyncedIn(payload))
			err = r.payload(blocks, payload)
			isWhole = err != nil
		}
	}
	if errors.Is(err, io.EOF) {
		if err = r.journals.endsWhole(blocks); err == nil {
			return r.keep(blocks, hint)
		}
	}
	damage, ok := errors.AsType[*disk.DamageError](err)
	if !ok || errors.Is(err, disk.ErrNewer) {
		return err
	}
	return r.damagedJournal(blocks, hint, damage, isWhole)
}

// keep accepts a journal up to the offset where reading ended. All of it that is not known to be durable is written
// again, because later files must not outlast it: the process that wrote it may have ended before its sync, or the sync
// may have failed.
func (r *recovery) keep(blocks *disk.BlockReader, hint int64) error {
	durable, err := r.journals.durableUpTo(blocks.Number, blocks.Offset)
	if err != nil {
		return err
	}
	r.ends[blocks.Number] = blocks.Offset
	r.found.last = disk.Predecessor{Before: blocks.Number, Durable: blocks.Offset, Ended: blocks.Offset}
	r.found.Journals++
	r.found.Bytes += blocks.Offset
	return r.fs.Rewrite(blocks.Name, min(max(durable, hint), blocks.Offset), blocks.Offset)
}

// discard removes a journal that was begun before the end of its predecessor, which is lost, was durable. So its
// contents were not durable either, and without that end they would be incomplete.
func (r *recovery) discard(blocks *disk.BlockReader) error {
	tail, err := disk.ReadFrom(r.fs, blocks.Name, 0)
	if err != nil {
		return err
	}
	r.ends[blocks.Number] = 0
	r.found.CutBytes += int64(len(tail))
	r.log.Warn("discarded a journal: the end of its predecessor was lost in a crash", "file", blocks.Name, "bytes", len(tail))
	return r.fs.Remove(blocks.Name)
}

// damagedJournal classifies damage. Without proof that the place had been synced to disk, it is an end torn by a crash,
// and is cut off. Otherwise durable data has changed. A block with a correct checksum was not torn.
func (r *recovery) damagedJournal(blocks *disk.BlockReader, hint int64, damage *disk.DamageError, isWhole bool) error {
	tail, err := disk.ReadFrom(r.fs, blocks.Name, damage.Offset)
	if err != nil {
		return err
	}
	torn := false
	if !isWhole {
		torn, err = r.journals.isTorn(blocks.Number, tail, damage.Offset)
	}
	switch {
	case err != nil:
		return err
	case !torn:
		r.found.Journals++
		return r.orRepair(blocks, damage, tail)
	}
	r.found.CutBytes += int64(len(tail))
	r.log.Warn("cut off the end of a journal, which was being written when the server or the machine stopped",
		"file", blocks.Name, "offset", damage.Offset, "bytes", len(tail))
	if damage.Offset < disk.HeaderBytes { // even its header is incomplete: it had no durable data
		r.ends[blocks.Number] = 0
		return r.fs.Remove(blocks.Name)
	}
	return r.keep(blocks, hint)
}
