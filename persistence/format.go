package persistence

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A file is a header and blocks, each at a multiple of 128 bytes with zeros in between, so that whole blocks can be
// found after a damaged one. All integers are little-endian, on every machine.
//
//	header, 128 bytes
//	offset  size  field
//	0       8     "STINTSNP" for a snapshot, "STINTJNL" for a journal, "STINTLOG" for a part of a log
//	8       2     version of the format
//	16      8     number of the file: a snapshot holds all changes of journals with lower numbers
//	24      8     of a journal: bytes of the journal before that were durable when this one was begun;
//	              of a snapshot: about how many keys are in it
//	32      8     of a journal: bytes of the journal before that are durable once this header is
//	40      8     of a journal: number of the journal before, if the two fields above are not both 0
//	48      8     identity of the directory, which its manifest has too; 0 in a backup, and of versions before 0.3.0
//	56      8     of a journal: number of the newest complete snapshot when this one was begun, and 1; 0 if there was none
//	24      8     of a part of a log: bytes of the file
//	32      8     of a part of a log: up to where the part before holds the log, 0 if there was none
//	124     4     CRC-32C of the 124 bytes before
//
//	block
//	offset  size  field
//	0       4     length n of the payload
//	4       4     CRC-32C of the number of the file, the offset of the block in it (8 bytes each) and the payload
//	8       n     payload
//
// The checksum covers the block's place, so that an old block in a reused disk sector is not taken for a new one. A
// journal may end in zeros: room for more blocks.
const (
	headerBytes    = 128
	blockHead      = 8
	blockAlign     = 128
	formatVersion  = 2
	snapshotMagic  = "STINTSNP"
	journalMagic   = "STINTJNL"
	logMagic       = "STINTLOG"
	maxBlockBytes  = 40 << 20 // a reader refuses more
	fullBlockBytes = 64 << 10 // a writer begins another block beyond this; a single entry may be larger
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// predecessor describes, in a journal's header, the journal before it: its number, the size of its durable part when
// this one was begun, and the size once this one's header is durable. The zero value is none.
type predecessor struct {
	before         uint64
	durable, ended int64
}

func journalHeader(number uint64, l predecessor, identity, snapshot uint64) []byte {
	return header(journalMagic, number, l.durable, l.ended, int64(l.before), int64(identity), int64(snapshot))
}

func header(magic string, number uint64, fields ...int64) []byte {
	head := make([]byte, headerBytes)
	writeHeader(head, magic, number, fields...)
	return head
}

// writeHeader writes a header into its bytes, which are zeros or an earlier header of as many fields.
func writeHeader(head []byte, magic string, number uint64, fields ...int64) {
	copy(head, magic)
	binary.LittleEndian.PutUint16(head[8:], formatVersion)
	binary.LittleEndian.PutUint64(head[16:], number)
	for i, field := range fields {
		binary.LittleEndian.PutUint64(head[24+8*i:], uint64(field))
	}
	binary.LittleEndian.PutUint32(head[headerBytes-4:], crc32.Checksum(head[:headerBytes-4], castagnoli))
}

// headerFields are the fields of a header.
type headerFields struct {
	number uint64
	fields [5]int64
}

// identity is that of the directory in which the file was written, 0 without one.
func (h headerFields) identity() uint64 { return uint64(h.fields[3]) }

// snapshot is the snapshot that a journal needs, and 1; 0 for none.
func (h headerFields) snapshot() uint64 { return uint64(h.fields[4]) }

// readHeader reads the header at the beginning of a file's bytes. With an error only the file's name is known.
func readHeader(name string, head []byte, magic string) (h headerFields, err error) {
	named, isNamed := numberOf(name)
	h.number = named
	if len(head) < headerBytes || string(head[:8]) != magic ||
		binary.LittleEndian.Uint32(head[headerBytes-4:]) != crc32.Checksum(head[:headerBytes-4], castagnoli) {
		return h, &DamageError{name, 0, ErrNotOurs}
	}
	switch version := binary.LittleEndian.Uint16(head[8:]); { // the checksum has the same place in all versions
	case version > formatVersion:
		return h, &DamageError{name, 8, fmt.Errorf("format version %d: %w", version, ErrNewer)}
	case version < formatVersion: // no release wrote one
		return h, &DamageError{name, 8, fmt.Errorf("format version %d, written by a build before 0.2.0: start with an empty --dir: %w", version, ErrNotOurs)}
	}
	if h.number = binary.LittleEndian.Uint64(head[16:]); isNamed && named != h.number {
		return h, &DamageError{name, 16, errRenamed}
	}
	for i := range h.fields {
		h.fields[i] = int64(binary.LittleEndian.Uint64(head[24+8*i:]))
	}
	return h, nil
}

func alignBlock(n int64) int64 { return (n + blockAlign - 1) &^ (blockAlign - 1) }

func blockSum(number uint64, offset int64, payload []byte) uint32 {
	var place [16]byte
	binary.LittleEndian.PutUint64(place[:], number)
	binary.LittleEndian.PutUint64(place[8:], uint64(offset))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, payload)
}

// sealBlock fills in the head of the block b, whose payload begins at b[blockHead:], and adds zeros up to the place of the
// next block.
func sealBlock(b []byte, number uint64, offset int64) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-blockHead))
	binary.LittleEndian.PutUint32(b[4:], blockSum(number, offset, b[blockHead:]))
	return append(b, make([]byte, alignBlock(int64(len(b)))-int64(len(b)))...)
}

// Errors of a file that has changed since it was written.
var (
	ErrNotOurs  = errors.New("not a file of Stint's, or its first bytes are damaged")
	ErrNewer    = errors.New("written by a newer version of Stint, in a format this one does not know; start that version")
	ErrDamaged  = errors.New("damaged")
	errCutShort = errors.New("ends in the middle of a block")
	errShorter  = errors.New("ends before what had been synced to disk: it was cut off, or is an older copy")
	errRenamed  = errors.New("has the number of another file in it: it was renamed, or damaged")
	errAbsent   = errors.New("is missing")
	errForeign  = errors.New("is another directory's: their identities differ")
	errLeftOut  = errors.New("follows a journal whose end a crash has torn")
)

// DamageError is the position and the kind of damage in a file.
type DamageError struct {
	Name   string
	Offset int64 // negative if it is the file that is missing, or in the wrong place
	Err    error
}

// absent is the damage of a file that is not there as a whole.
func absent(name string, err error) *DamageError { return &DamageError{name, -1, err} }

// isMissing is the damage of a file that should be there, with the reason.
func isMissing(name, reason string) *DamageError {
	return absent(name, fmt.Errorf("%w: %s", errAbsent, reason))
}

// IsOfDir reports whether it is the directory that is damaged: the file is missing, or is another directory's.
func (e *DamageError) IsOfDir() bool { return e.Offset < 0 }

func (e *DamageError) Error() string {
	if e.IsOfDir() {
		return fmt.Sprintf("%s %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s at offset %d: %v", e.Name, e.Offset, e.Err)
}

// Unwrap returns the reason.
func (e *DamageError) Unwrap() error { return e.Err }

// blockReader reads a file block by block.
type blockReader struct {
	name        string
	in          *bufio.Reader
	isJournal   bool
	number      uint64
	head        headerFields
	predecessor predecessor // of a journal
	keys        int64       // of a snapshot: their approximate number
	offset      int64       // of the next block
	payload     []byte
}

// newBlockReader reads a file's header. With an error only the file's name is known.
func newBlockReader(name string, in io.Reader, magic string) (*blockReader, error) {
	r := &blockReader{name: name, in: bufio.NewReaderSize(in, fullBlockBytes), isJournal: magic == journalMagic}
	r.number, _ = numberOf(name)
	var first [headerBytes]byte
	n, err := io.ReadFull(r.in, first[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return r, err
	}
	head, err := readHeader(name, first[:n], magic)
	r.head = head
	if r.number = head.number; err != nil {
		return r, err
	}
	r.offset = headerBytes
	if !r.isJournal {
		r.keys = head.fields[0]
		return r, nil
	}
	r.predecessor = predecessor{durable: head.fields[0], ended: head.fields[1], before: uint64(head.fields[2])}
	return r, nil
}

// next returns the payload of the next block, good until the next call. It returns io.EOF at the end of the file, and a
// [DamageError] for a block that is not whole.
func (r *blockReader) next() ([]byte, error) {
	var head [blockHead]byte
	switch n, err := io.ReadFull(r.in, head[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil, io.EOF
	case err == io.ErrUnexpectedEOF:
		return nil, r.damage(errCutShort)
	case err != nil:
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == 0 && r.isJournal {
		return nil, r.room(head[4:])
	}
	if size < payloadHead || size > maxBlockBytes {
		return nil, r.damage(ErrDamaged)
	}
	padded := alignBlock(blockHead+int64(size)) - blockHead
	if int64(cap(r.payload)) < padded {
		r.payload = make([]byte, padded)
	}
	r.payload = r.payload[:padded]
	switch _, err := io.ReadFull(r.in, r.payload); {
	case errors.Is(err, io.EOF) || err == io.ErrUnexpectedEOF:
		return nil, r.damage(errCutShort)
	case err != nil:
		return nil, err
	}
	if binary.LittleEndian.Uint32(head[4:]) != blockSum(r.number, r.offset, r.payload[:size]) {
		return nil, r.damage(ErrDamaged)
	}
	r.offset += blockHead + padded
	return r.payload[:size], nil
}

// room returns io.EOF if the rest of the file is zeros: room for more blocks.
func (r *blockReader) room(read []byte) error {
	buf := make([]byte, 32<<10)
	for {
		if len(bytes.TrimLeft(read, "\x00")) > 0 {
			return r.damage(ErrDamaged)
		}
		n, err := r.in.Read(buf)
		if n == 0 && err != nil {
			return err
		}
		read = buf[:n]
	}
}

func (r *blockReader) damage(err error) error { return &DamageError{r.name, r.offset, err} }

// wholeBlocks calls visit for the whole blocks after a damaged place, base, of a file.
func wholeBlocks(tail []byte, number uint64, base int64, visit func(offset int64, payload []byte)) {
	end := base + int64(len(tail))
	for offset := max(alignBlock(base+1), headerBytes); offset < end; {
		payload, ok := blockAt(tail, number, base, offset)
		if !ok {
			offset += blockAlign
			continue
		}
		visit(offset, payload)
		offset += alignBlock(blockHead + int64(len(payload)))
	}
}

// blockAt returns the payload of a whole block at an offset of a file's bytes.
func blockAt(data []byte, number uint64, base, offset int64) (payload []byte, ok bool) {
	b := data[offset-base:]
	if len(b) < blockHead {
		return nil, false
	}
	size := int64(binary.LittleEndian.Uint32(b))
	if size < payloadHead || size > maxBlockBytes || blockHead+size > int64(len(b)) {
		return nil, false
	}
	payload = b[blockHead : blockHead+size]
	if _, synced, _ := payloadHeader(payload); synced < 0 || synced > offset {
		return nil, false // saves the checksum of bytes that cannot be a block
	}
	return payload, binary.LittleEndian.Uint32(b[4:]) == blockSum(number, offset, payload)
}
