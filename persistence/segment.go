package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// segmentBytes is the size of a segment, which its file has from the beginning. An entry that is larger gets a segment
	// of its own size.
	segmentBytes = 8 << 20
	// fillBytes is how much of a new file is filled with zeros at a time: where something was written before, a sync has
	// only the new bytes to write, and not where the file is on the disk as well. A file that is used again is full.
	fillBytes = 256 << 10
)

// segment is a part of an [EntryLog]: a header and blocks with one entry each, whose payload is
//
//	8  index of the entry
//	8  offset in this segment up to which everything had been synced to disk
//	   the entry
//
// Behind them is what the file held before: zeros, or blocks of another number.
type segment struct {
	name   string
	number uint64
	file   File
	size   int64
	end    int64 // of what is durable
	filled int64 // up to where the file has a place on the disk
	closed bool  // nothing more is written, and what may be behind end is not read
	before int64 // up to where the segment before holds the log; 0 if there was none
}

// createSegment makes a segment, out of spare if there is one. It is durable, with its name, before it is returned.
func createSegment(fs FS, number uint64, size, before int64, spare *segment) (*segment, error) {
	s := &segment{name: fileName(logPrefix, number), number: number, size: size, end: headerBytes, before: before}
	from := s.name + spareSuffix
	if spare != nil {
		from, s.file, s.filled = spare.name, spare.file, spare.filled
	} else {
		var err error
		if s.file, err = fs.Create(from); err != nil {
			return nil, err
		}
	}
	if err := s.found(fs, from, spare == nil); err != nil {
		_ = fs.Remove(from) // it would take room until the next start, which removes it
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// found makes a segment of a file, which gets its size first if it is empty.
func (s *segment) found(fs FS, from string, empty bool) error {
	if empty {
		if err := s.file.Truncate(s.size); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(header(logMagic, s.number, s.size, s.before), 0); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	if err := fs.Rename(from, s.name); err != nil {
		return err
	}
	return fs.SyncDir()
}

// openSegment opens a segment and reads its header.
func openSegment(fs FS, number uint64) (*segment, error) {
	s := &segment{name: fileName(logPrefix, number), number: number, end: headerBytes, closed: true}
	var err error
	if s.file, err = fs.Edit(s.name); err != nil {
		return nil, err
	}
	var head [headerBytes]byte
	n, err := s.file.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, errors.Join(err, s.file.Close())
	}
	h, err := readHeader(s.name, head[:n], logMagic)
	if s.size, s.before = h.fields[0], h.fields[1]; err == nil && (s.size < headerBytes || s.size > maxSegmentBytes || s.size != alignBlock(s.size)) {
		err = &DamageError{s.name, 24, ErrDamaged}
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// maxSegmentBytes bounds a segment: one entry of the largest size.
const maxSegmentBytes = 2 * maxBlockBytes

// read hands the entries of a segment to visit, in order. ended is up to where the next one says that this one holds the
// log. Of the last one it is 0: that ends with its last whole block, unless a block behind says that there had been more. The
// bytes handed on are only good during the call.
func (s *segment) read(ended int64, visit func(offset int64, index uint64, entry []byte)) (data []byte, err error) {
	data = make([]byte, s.size)
	switch n, err := s.file.ReadAt(data, 0); {
	case err == io.EOF && int64(n) < s.size:
		return nil, &DamageError{s.name, int64(n), fmt.Errorf("%d bytes belong to it: %w", s.size, errShorter)}
	case err != nil && err != io.EOF:
		return nil, err
	}
	for ended == 0 || s.end < ended {
		payload, ok := blockAt(data, s.number, 0, s.end)
		if !ok {
			break
		}
		visit(s.end, binary.LittleEndian.Uint64(payload), payload[payloadHead:])
		s.end += alignBlock(blockHead + int64(len(payload)))
	}
	if ended > 0 && s.end != ended || ended == 0 && claimsIn(data[s.end:], s.number, s.end) > s.end {
		return nil, &DamageError{s.name, s.end, ErrDamaged}
	}
	return data, nil
}

// settle makes durable what was read of the last segment, and clears what is behind it: what a process wrote that died
// before its sync must neither be lost once something was built on it, nor be found behind what is written there now.
func (s *segment) settle(data []byte) error {
	used := s.end + int64(len(bytes.TrimRight(data[s.end:], "\x00")))
	clear(data[s.end:used])
	_, err := s.file.WriteAt(data[:used], 0)
	return errors.Join(err, s.file.Sync())
}

// append writes blocks behind the others, durably. After an error nothing more can be written to the segment.
func (s *segment) append(blocks []byte) error {
	_, err := s.file.WriteAt(blocks, s.end)
	if end := s.end + int64(len(blocks)); err == nil && end > s.filled {
		s.filled = min(end+fillBytes, s.size)
		_, _ = s.file.WriteAt(make([]byte, s.filled-end), end) // a disk that is nearly full; the blocks themselves fitted
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.closed = true // the kernel may take for written what is not; all of this is written again elsewhere
		return err
	}
	s.end += int64(len(blocks))
	return nil
}

// entryAt returns the entry in the block at an offset.
func (s *segment) entryAt(offset int64, index uint64) ([]byte, error) {
	var head [blockHead]byte
	if _, err := s.file.ReadAt(head[:], offset); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if size < payloadHead || offset+blockHead+size > s.size {
		return nil, &DamageError{s.name, offset, ErrDamaged}
	}
	block := make([]byte, blockHead+size)
	if _, err := s.file.ReadAt(block, offset); err != nil {
		return nil, err
	}
	payload, ok := blockAt(block, s.number, offset, offset)
	if !ok || binary.LittleEndian.Uint64(payload) != index {
		return nil, &DamageError{s.name, offset, ErrDamaged}
	}
	return payload[payloadHead:], nil
}
