package persistence

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/stintdb/stint/persistence/disk"
)

// journalChain is the journals of a directory in the order in which they were begun. A header records the size of the
// durable part of the journal before it, which distinguishes a torn end from damage.
type journalChain struct {
	fs      disk.FS
	numbers []uint64
	last    uint64 // by the manifest, number of the last one, and 1; 0 if it does not say
	bytes   int64  // of that one that are durable at least
}

// predecessor reads the predecessor from a journal's header. It returns none if the header is damaged; reading that
// journal reports the damage.
func (c journalChain) predecessor(number uint64) (disk.Predecessor, error) {
	in, err := c.fs.Open(disk.FileName(disk.JournalPrefix, number))
	if err != nil {
		return disk.Predecessor{}, err
	}
	defer in.Close()
	blocks, err := disk.NewBlockReader(disk.FileName(disk.JournalPrefix, number), in, disk.JournalMagic)
	if _, damaged := errors.AsType[*disk.DamageError](err); damaged && !errors.Is(err, disk.ErrNewer) {
		return disk.Predecessor{}, nil
	}
	return blocks.Predecessor, err
}

// durableUpTo returns the size of the part of a journal, which is whole up to offset, that was durable according to
// later journals and the manifest.
func (c journalChain) durableUpTo(number uint64, offset int64) (durable int64, err error) {
	if number+1 == c.last {
		durable = c.bytes
	}
	for _, next := range c.numbers {
		if next <= number {
			continue
		}
		l, err := c.predecessor(next)
		if err != nil {
			return 0, err
		}
		if l.Before != number {
			continue
		}
		durable = max(durable, l.Durable)
		if l.Ended > max(offset, durable) {
			synced, err := c.firstSyncDone(next)
			if err != nil {
				return 0, err
			}
			if synced {
				durable = l.Ended
			}
		}
	}
	return durable, nil
}

// firstSyncDone reports whether there is proof that a journal's first sync completed: that its header is durable, and
// with it the whole previous journal.
func (c journalChain) firstSyncDone(number uint64) (bool, error) {
	name := disk.FileName(disk.JournalPrefix, number)
	in, err := c.fs.Open(name)
	if err != nil {
		return false, err
	}
	defer in.Close()
	blocks, err := disk.NewBlockReader(name, in, disk.JournalMagic)
	for err == nil {
		var payload []byte
		if payload, err = blocks.Next(); err == nil && disk.SyncedIn(payload) >= disk.HeaderBytes {
			return true, nil
		}
	}
	hint := int64(0)
	if damage, ok := errors.AsType[*disk.DamageError](err); ok {
		tail, err := disk.ReadFrom(c.fs, name, damage.Offset)
		if err != nil {
			return false, err
		}
		hint = disk.SyncedHint(tail, number, damage.Offset)
	}
	durable, err := c.durableUpTo(number, 0)
	return max(durable, hint) >= disk.HeaderBytes, err
}

// isDiscarded reports whether a start discards a journal: the end of its predecessor is missing, and there is no proof
// that its first sync, which makes that end durable, completed.
func (c journalChain) isDiscarded(number uint64) (bool, error) {
	l, err := c.predecessor(number)
	if err != nil || l.Ended == 0 || !slices.Contains(c.numbers, l.Before) {
		return false, err
	}
	if synced, err := c.firstSyncDone(number); synced || err != nil {
		return false, err
	}
	end, err := c.end(l.Before)
	return end < l.Ended, err
}

// end is the offset up to which a start reads a journal, 0 if it discards it.
func (c journalChain) end(number uint64) (int64, error) {
	if discarded, err := c.isDiscarded(number); discarded || err != nil {
		return 0, err
	}
	name := disk.FileName(disk.JournalPrefix, number)
	in, err := c.fs.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	blocks, err := disk.NewBlockReader(name, in, disk.JournalMagic)
	for err == nil {
		_, err = blocks.Next()
	}
	if _, damaged := errors.AsType[*disk.DamageError](err); damaged || errors.Is(err, io.EOF) {
		err = nil
	}
	return blocks.Offset, err
}

// isTorn reports whether a damaged place in a journal, from which on it holds tail, may be torn by a crash: there is no
// proof that it had been synced.
func (c journalChain) isTorn(number uint64, tail []byte, offset int64) (bool, error) {
	if offset < disk.HeaderBytes && !isLostHeader(tail) {
		return false, nil
	}
	durable, err := c.durableUpTo(number, offset)
	return max(durable, disk.SyncedHint(tail, number, offset)) <= offset, err
}

// endsWhole returns the damage of a journal, read to its end, if it is shorter than its durable part according to later
// journals.
func (c journalChain) endsWhole(blocks *disk.BlockReader) error {
	switch durable, err := c.durableUpTo(blocks.Number, blocks.Offset); {
	case err != nil:
		return err
	case durable > blocks.Offset:
		return blocks.Damage(disk.ErrShorter)
	}
	return nil
}

// isLostHeader reports whether a crash may have interrupted the write of a file's header: then the file is empty, or
// zeros, or a part of a header with nothing after it.
func isLostHeader(file []byte) bool {
	head := file[:min(len(file), disk.HeaderBytes)]
	if len(bytes.TrimLeft(head, "\x00")) == 0 {
		return true
	}
	return len(file) <= disk.HeaderBytes && bytes.HasPrefix(head, []byte(disk.JournalMagic[:min(len(head), len(disk.JournalMagic))]))
}
