package persistence

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// journalChain is the journals of a directory in the order in which they were begun. A header records the size of the
// durable part of the journal before it, which distinguishes a torn end from damage.
type journalChain struct {
	fs      FS
	numbers []uint64
	last    uint64 // by the manifest, number of the last one, and 1; 0 if it does not say
	bytes   int64  // of that one that are durable at least
}

func journalsOf(fs FS) (journalChain, error) {
	c, err := contentsOf(fs)
	if err != nil {
		return journalChain{}, err
	}
	return c.chain(), nil
}

// predecessor reads the predecessor from a journal's header. It returns none if the header is damaged; reading that
// journal reports the damage.
func (c journalChain) predecessor(number uint64) (predecessor, error) {
	in, err := c.fs.Open(fileName(journalPrefix, number))
	if err != nil {
		return predecessor{}, err
	}
	defer in.Close()
	blocks, err := newBlockReader(fileName(journalPrefix, number), in, journalMagic)
	if _, damaged := errors.AsType[*DamageError](err); damaged && !errors.Is(err, ErrNewer) {
		return predecessor{}, nil
	}
	return blocks.predecessor, err
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
		if l.before != number {
			continue
		}
		durable = max(durable, l.durable)
		if l.ended > max(offset, durable) {
			synced, err := c.firstSyncDone(next)
			if err != nil {
				return 0, err
			}
			if synced {
				durable = l.ended
			}
		}
	}
	return durable, nil
}

// firstSyncDone reports whether there is proof that a journal's first sync completed: that its header is durable, and
// with it the whole previous journal.
func (c journalChain) firstSyncDone(number uint64) (bool, error) {
	name := fileName(journalPrefix, number)
	in, err := c.fs.Open(name)
	if err != nil {
		return false, err
	}
	defer in.Close()
	blocks, err := newBlockReader(name, in, journalMagic)
	for err == nil {
		var payload []byte
		if payload, err = blocks.next(); err == nil && syncedIn(payload) >= headerBytes {
			return true, nil
		}
	}
	hint := int64(0)
	if damage, ok := errors.AsType[*DamageError](err); ok {
		tail, err := readFrom(c.fs, name, damage.Offset)
		if err != nil {
			return false, err
		}
		hint = syncedHint(tail, number, damage.Offset)
	}
	durable, err := c.durableUpTo(number, 0)
	return max(durable, hint) >= headerBytes, err
}

// isDiscarded reports whether a start discards a journal: the end of its predecessor is missing, and there is no proof
// that its first sync, which makes that end durable, completed.
func (c journalChain) isDiscarded(number uint64) (bool, error) {
	l, err := c.predecessor(number)
	if err != nil || l.ended == 0 || !slices.Contains(c.numbers, l.before) {
		return false, err
	}
	if synced, err := c.firstSyncDone(number); synced || err != nil {
		return false, err
	}
	end, err := c.end(l.before)
	return end < l.ended, err
}

// end is the offset up to which a start reads a journal, 0 if it discards it.
func (c journalChain) end(number uint64) (int64, error) {
	if discarded, err := c.isDiscarded(number); discarded || err != nil {
		return 0, err
	}
	name := fileName(journalPrefix, number)
	in, err := c.fs.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	blocks, err := newBlockReader(name, in, journalMagic)
	for err == nil {
		_, err = blocks.next()
	}
	if _, damaged := errors.AsType[*DamageError](err); damaged || errors.Is(err, io.EOF) {
		err = nil
	}
	return blocks.offset, err
}

// isTorn reports whether a damaged place in a journal, from which on it holds tail, may be torn by a crash: there is no
// proof that it had been synced.
func (c journalChain) isTorn(number uint64, tail []byte, offset int64) (bool, error) {
	if offset < headerBytes && !isLostHeader(tail) {
		return false, nil
	}
	durable, err := c.durableUpTo(number, offset)
	return max(durable, syncedHint(tail, number, offset)) <= offset, err
}

// endsWhole returns the damage of a journal, read to its end, if it is shorter than its durable part according to later
// journals.
func (c journalChain) endsWhole(blocks *blockReader) error {
	switch durable, err := c.durableUpTo(blocks.number, blocks.offset); {
	case err != nil:
		return err
	case durable > blocks.offset:
		return blocks.damage(errShorter)
	}
	return nil
}

// isLostHeader reports whether a crash may have interrupted the write of a file's header: then the file is empty, or
// zeros, or a part of a header with nothing after it.
func isLostHeader(file []byte) bool {
	head := file[:min(len(file), headerBytes)]
	if len(bytes.TrimLeft(head, "\x00")) == 0 {
		return true
	}
	return len(file) <= headerBytes && bytes.HasPrefix(head, []byte(journalMagic[:min(len(head), len(journalMagic))]))
}

// syncedIn is the offset up to which the journal was durable when a block of it was written.
func syncedIn(payload []byte) int64 {
	_, synced, _ := payloadHeader(payload)
	return synced
}

// syncedHint is the largest of these offsets in the whole blocks after a damaged place.
func syncedHint(tail []byte, number uint64, offset int64) (durable int64) {
	wholeBlocks(tail, number, offset, func(_ int64, payload []byte) { durable = max(durable, syncedIn(payload)) })
	return durable
}
