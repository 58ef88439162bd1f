package persistence

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// chain is the journals of a directory in the order in which they were begun. Each tells what had been durable of the
// one before it; that is what a torn end is told from damage by.
type chain struct {
	fs      FS
	numbers []uint64
}

func journalsOf(fs FS) (chain, error) {
	names, err := fs.List()
	return chain{fs, numbers(names, journalPrefix)}, err
}

// lineage reads what a journal tells of the one before: nothing if its header is damaged; its own turn comes.
func (c chain) lineage(number uint64) (lineage, error) {
	in, err := c.fs.Open(fileName(journalPrefix, number))
	if err != nil {
		return lineage{}, err
	}
	defer in.Close()
	blocks, err := newBlockReader(fileName(journalPrefix, number), in, journalMagic)
	if _, damaged := errors.AsType[*DamageError](err); damaged && !errors.Is(err, ErrNewer) {
		return lineage{}, nil
	}
	return blocks.lineage, err
}

// told returns how much of a journal, which is whole up to offset, those behind it tell to have been durable.
func (c chain) told(number uint64, offset int64) (durable int64, err error) {
	for _, next := range c.numbers {
		if next <= number {
			continue
		}
		l, err := c.lineage(next)
		if err != nil {
			return 0, err
		}
		if l.before != number {
			continue
		}
		durable = max(durable, l.durable)
		if l.ended > max(offset, durable) {
			founded, err := c.isFounded(next)
			if err != nil {
				return 0, err
			}
			if founded {
				durable = l.ended
			}
		}
	}
	return durable, nil
}

// isFounded reports whether anything tells that a journal's first sync was over: that its header is durable, and with it
// the whole journal before.
func (c chain) isFounded(number uint64) (bool, error) {
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
	claims := int64(0)
	if damage, ok := errors.AsType[*DamageError](err); ok {
		tail, err := readFrom(c.fs, name, damage.Offset)
		if err != nil {
			return false, err
		}
		claims = claimsIn(tail, number, damage.Offset)
	}
	durable, err := c.told(number, 0)
	return max(durable, claims) >= headerBytes, err
}

// isLeftOut reports whether a start leaves a journal out: it goes on from an end that is not there, and nothing tells that
// its first sync, before which that end was to be durable, was over.
func (c chain) isLeftOut(number uint64) (bool, error) {
	l, err := c.lineage(number)
	if err != nil || l.ended == 0 || !slices.Contains(c.numbers, l.before) {
		return false, err
	}
	if founded, err := c.isFounded(number); founded || err != nil {
		return false, err
	}
	end, err := c.end(l.before)
	return end < l.ended, err
}

// end is up to where a start reads a journal, 0 if it leaves it out.
func (c chain) end(number uint64) (int64, error) {
	if leftOut, err := c.isLeftOut(number); leftOut || err != nil {
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
	if _, damaged := errors.AsType[*DamageError](err); damaged || err == io.EOF {
		err = nil
	}
	return blocks.offset, err
}

// isTorn reports whether nothing tells that the damaged place, from which on a journal holds tail, had been synced.
func (c chain) isTorn(number uint64, tail []byte, offset int64) (bool, error) {
	if offset < headerBytes && !isLostHeader(tail) {
		return false, nil
	}
	durable, err := c.told(number, offset)
	return max(durable, claimsIn(tail, number, offset)) <= offset, err
}

// endsWhole returns the damage of a journal, read to its end, of which those behind it tell that more had been durable.
func (c chain) endsWhole(blocks *blockReader) error {
	switch durable, err := c.told(blocks.number, blocks.offset); {
	case err != nil:
		return err
	case durable > blocks.offset:
		return blocks.damage(errShorter)
	}
	return nil
}

// isLostHeader reports whether a file may begin as it does because its header did not come to be written as a whole: then
// there is nothing, or zeros, or its beginning and nothing behind.
func isLostHeader(file []byte) bool {
	head := file[:min(len(file), headerBytes)]
	if len(bytes.TrimLeft(head, "\x00")) == 0 {
		return true
	}
	return len(file) <= headerBytes && bytes.HasPrefix(head, []byte(journalMagic[:min(len(head), len(journalMagic))]))
}

// syncedIn is up to where the journal was durable when a block of it was written.
func syncedIn(payload []byte) int64 {
	_, synced, _ := payloadHeader(payload)
	return synced
}

// claimsIn is the latest of that in the whole blocks behind a damaged place.
func claimsIn(tail []byte, number uint64, offset int64) (durable int64) {
	wholeBlocks(tail, number, offset, func(_ int64, payload []byte) { durable = max(durable, syncedIn(payload)) })
	return durable
}

// Missing returns what is wrong with a directory when a journal in it goes on from another that is not there.
func Missing(dir FS) (*DamageError, error) {
	names, err := dir.List()
	if err != nil {
		return nil, err
	}
	snapshots, c := numbers(names, snapshotPrefix), chain{dir, numbers(names, journalPrefix)}
	for _, number := range c.numbers {
		if len(snapshots) > 0 && number <= snapshots[len(snapshots)-1] {
			continue
		}
		l, err := c.lineage(number)
		if err != nil {
			return nil, err
		}
		if slices.Contains(c.numbers, l.before) {
			continue
		}
		needed := l.durable > headerBytes
		if !needed && l.ended > headerBytes {
			if needed, err = c.isFounded(number); err != nil {
				return nil, err
			}
		}
		if needed {
			return &DamageError{fileName(journalPrefix, number), 0, errMissing}, nil
		}
	}
	return nil, nil
}
