package persistence

import (
	"errors"
	"io"
)

// journal reads a journal, unless a crash has torn the end of its predecessor.
func (r *recovery) journal(number uint64) error {
	name := fileName(journalPrefix, number)
	in, err := r.fs.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	blocks, err := newBlockReader(name, in, journalMagic)
	if end, read := r.ends[blocks.predecessor.before]; err == nil && read && blocks.predecessor.ended > end {
		return r.discard(blocks)
	}
	hint := int64(0)
	isWhole := false // the block with the error
	for err == nil {
		var payload []byte
		if payload, err = blocks.next(); err == nil {
			hint = max(hint, syncedIn(payload))
			err = r.payload(blocks, payload)
			isWhole = err != nil
		}
	}
	if errors.Is(err, io.EOF) {
		if err = r.journals.endsWhole(blocks); err == nil {
			return r.keep(blocks, hint)
		}
	}
	damage, ok := errors.AsType[*DamageError](err)
	if !ok || errors.Is(err, ErrNewer) {
		return err
	}
	return r.damagedJournal(blocks, hint, damage, isWhole)
}

// keep accepts a journal up to the offset where reading ended. All of it that is not known to be durable is written
// again, because later files must not outlast it: the process that wrote it may have ended before its sync, or the sync
// may have failed.
func (r *recovery) keep(blocks *blockReader, hint int64) error {
	durable, err := r.journals.durableUpTo(blocks.number, blocks.offset)
	if err != nil {
		return err
	}
	r.ends[blocks.number] = blocks.offset
	r.found.last = predecessor{blocks.number, blocks.offset, blocks.offset}
	r.found.Journals++
	r.found.Bytes += blocks.offset
	return r.fs.Rewrite(blocks.name, min(max(durable, hint), blocks.offset), blocks.offset)
}

// discard removes a journal that was begun before the end of its predecessor, which is lost, was durable. So its
// contents were not durable either, and without that end they would be incomplete.
func (r *recovery) discard(blocks *blockReader) error {
	tail, err := readFrom(r.fs, blocks.name, 0)
	if err != nil {
		return err
	}
	r.ends[blocks.number] = 0
	r.found.CutBytes += int64(len(tail))
	r.log.Warn("discarded a journal: the end of its predecessor was lost in a crash", "file", blocks.name, "bytes", len(tail))
	return r.fs.Remove(blocks.name)
}

// damagedJournal classifies damage. Without proof that the place had been synced to disk, it is an end torn by a crash,
// and is cut off. Otherwise durable data has changed. A block with a correct checksum was not torn.
func (r *recovery) damagedJournal(blocks *blockReader, hint int64, damage *DamageError, isWhole bool) error {
	tail, err := readFrom(r.fs, blocks.name, damage.Offset)
	if err != nil {
		return err
	}
	torn := false
	if !isWhole {
		torn, err = r.journals.isTorn(blocks.number, tail, damage.Offset)
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
		"file", blocks.name, "offset", damage.Offset, "bytes", len(tail))
	if damage.Offset < headerBytes { // even its header is incomplete: it had no durable data
		r.ends[blocks.number] = 0
		return r.fs.Remove(blocks.name)
	}
	return r.keep(blocks, hint)
}
