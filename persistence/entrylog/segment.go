package entrylog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/stintdb/stint/persistence/disk"
)

const (
	// segmentBytes is the size of a segment's file, from its creation. A larger entry gets a segment of its size.
	segmentBytes = 8 << 20
	// fillBytes is the number of zeros written to a new file at a time: where bytes were written before, a sync writes
	// only the new bytes, and not the file's position on the disk. A recycled file is already filled.
	fillBytes = 256 << 10
)

// segment is a part of a [Log]: a header and blocks with one entry each, whose payload is
//
//	8  index of the entry
//	8  offset in this segment up to which everything had been synced to disk
//	   the entry
//
// After them are the file's previous contents: zeros, or blocks of another number.
type segment struct {
	name   string
	number uint64
	file   disk.File
	size   int64
	end    int64  // of the durable part
	filled int64  // offset up to which the file has blocks on the disk
	closed bool   // no more is written, and bytes after end are not read
	in     uint64 // identity of its directory
	before int64  // offset up to which the previous segment holds the log; 0 if there was none
}

// createSegment makes a segment, reusing the file of recycled if it is not nil. It is durable, with its name, before it
// is returned.
func createSegment(fs disk.FS, identity, number uint64, size, before int64, recycled *segment) (*segment, error) {
	s := &segment{name: disk.FileName(disk.LogPrefix, number), number: number, size: size, end: disk.HeaderBytes, in: identity, before: before}
	from := s.name + disk.RecycledSuffix
	if recycled != nil {
		from, s.file, s.filled = recycled.name, recycled.file, recycled.filled
	} else {
		var err error
		if s.file, err = fs.Create(from); err != nil {
			return nil, err
		}
	}
	if err := s.initialize(fs, from, recycled == nil); err != nil {
		_ = fs.Remove(from) // otherwise it takes space until the next start, which removes it
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// initialize makes a segment of a file. An empty file first gets its size.
func (s *segment) initialize(fs disk.FS, from string, empty bool) error {
	if empty {
		if err := s.file.Truncate(s.size); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(disk.Header(disk.LogMagic, s.number, s.size, s.before, 0, int64(s.in)), 0); err != nil {
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
func openSegment(fs disk.FS, number uint64) (*segment, error) {
	s := &segment{name: disk.FileName(disk.LogPrefix, number), number: number, end: disk.HeaderBytes, closed: true}
	var err error
	if s.file, err = fs.Edit(s.name); err != nil {
		return nil, err
	}
	var head [disk.HeaderBytes]byte
	n, err := s.file.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, s.file.Close())
	}
	h, err := disk.ReadHeader(s.name, head[:n], disk.LogMagic)
	s.in = h.Identity()
	if s.size, s.before = h.Fields[0], h.Fields[1]; err == nil && (s.size < disk.HeaderBytes || s.size > maxSegmentBytes || s.size != disk.AlignBlock(s.size)) {
		err = &disk.DamageError{Name: s.name, Offset: 24, Err: disk.ErrDamaged}
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// maxSegmentBytes bounds a segment: one entry of the largest size.
const maxSegmentBytes = 2 * disk.MaxBlockBytes

// read passes the entries of a segment to visit, in order. ended is the offset up to which this segment holds the log
// according to the next one. For the last segment it is 0: that ends with its last whole block, unless a later block
// proves that there had been more. The bytes are only valid during the call.
func (s *segment) read(ended int64, visit func(offset int64, index uint64, entry []byte)) (data []byte, err error) {
	data = make([]byte, s.size)
	switch n, err := s.file.ReadAt(data, 0); {
	case errors.Is(err, io.EOF) && int64(n) < s.size:
		return nil, &disk.DamageError{Name: s.name, Offset: int64(n), Err: fmt.Errorf("%d bytes belong to it: %w", s.size, disk.ErrShorter)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	for ended == 0 || s.end < ended {
		payload, ok := disk.BlockAt(data, s.number, 0, s.end)
		if !ok {
			break
		}
		visit(s.end, binary.LittleEndian.Uint64(payload), payload[disk.PayloadHead:])
		s.end += disk.AlignBlock(disk.BlockHead + int64(len(payload)))
	}
	if ended > 0 && s.end != ended || ended == 0 && disk.SyncedHint(data[s.end:], s.number, s.end) > s.end {
		return nil, &disk.DamageError{Name: s.name, Offset: s.end, Err: disk.ErrDamaged}
	}
	return data, nil
}

// syncTail makes the entries read from the last segment durable, and clears the bytes after them: the writes of a
// process that died before its sync must not be lost once later entries depend on them, and must not be found after new
// entries.
func (s *segment) syncTail(data []byte) error {
	used := s.end + int64(len(bytes.TrimRight(data[s.end:], "\x00")))
	clear(data[s.end:used])
	_, err := s.file.WriteAt(data[:used], 0)
	return errors.Join(err, s.file.Sync())
}

// append writes blocks after the others, durably. After an error the segment takes no more writes.
func (s *segment) append(blocks []byte) error {
	_, err := s.file.WriteAt(blocks, s.end)
	if end := s.end + int64(len(blocks)); err == nil && end > s.filled {
		s.filled = min(end+fillBytes, s.size)
		_, _ = s.file.WriteAt(make([]byte, s.filled-end), end) // the disk is nearly full; the blocks themselves fitted
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.closed = true // the kernel may mark unwritten pages as written; all of this is written again to another segment
		return err
	}
	s.end += int64(len(blocks))
	return nil
}

// entryAt returns the entry in the block at an offset.
func (s *segment) entryAt(offset int64, index uint64) ([]byte, error) {
	var head [disk.BlockHead]byte
	if _, err := s.file.ReadAt(head[:], offset); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if size < disk.PayloadHead || offset+disk.BlockHead+size > s.size {
		return nil, &disk.DamageError{Name: s.name, Offset: offset, Err: disk.ErrDamaged}
	}
	block := make([]byte, disk.BlockHead+size)
	if _, err := s.file.ReadAt(block, offset); err != nil {
		return nil, err
	}
	payload, ok := disk.BlockAt(block, s.number, offset, offset)
	if !ok || binary.LittleEndian.Uint64(payload) != index {
		return nil, &disk.DamageError{Name: s.name, Offset: offset, Err: disk.ErrDamaged}
	}
	return payload[disk.PayloadHead:], nil
}
