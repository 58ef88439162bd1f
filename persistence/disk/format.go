package disk

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
	HeaderBytes    = 128
	BlockHead      = 8
	BlockAlign     = 128
	FormatVersion  = 2
	SnapshotMagic  = "STINTSNP"
	JournalMagic   = "STINTJNL"
	LogMagic       = "STINTLOG"
	MaxBlockBytes  = 40 << 20 // a reader refuses more
	FullBlockBytes = 64 << 10 // a writer begins another block beyond this; a single entry may be larger
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Predecessor describes, in a journal's header, the journal before it: its number, the size of its durable part when
// this one was begun, and the size once this one's header is durable. The zero value is none.
type Predecessor struct {
	Before  uint64 // its number
	Durable int64  // bytes that were durable when this journal was begun
	Ended   int64  // bytes that are durable once the header of this journal is
}

// JournalHeader returns the header of a journal. The snapshot is the number of the newest complete one, and 1; 0 if
// there was none.
func JournalHeader(number uint64, l Predecessor, identity, snapshot uint64) []byte {
	return Header(JournalMagic, number, l.Durable, l.Ended, int64(l.Before), int64(identity), int64(snapshot))
}

// Header returns the header of a file, with the fields that its kind has from offset 24 on.
func Header(magic string, number uint64, fields ...int64) []byte {
	head := make([]byte, HeaderBytes)
	writeHeader(head, magic, number, fields...)
	return head
}

// writeHeader writes a header into its bytes, which are zeros or an earlier header of as many fields.
func writeHeader(head []byte, magic string, number uint64, fields ...int64) {
	copy(head, magic)
	binary.LittleEndian.PutUint16(head[8:], FormatVersion)
	binary.LittleEndian.PutUint64(head[16:], number)
	for i, field := range fields {
		binary.LittleEndian.PutUint64(head[24+8*i:], uint64(field))
	}
	binary.LittleEndian.PutUint32(head[HeaderBytes-4:], crc32.Checksum(head[:HeaderBytes-4], castagnoli))
}

// HeaderFields are the fields of a header.
type HeaderFields struct {
	Number uint64
	Fields [5]int64
}

// Identity is the identity of the directory in which the file was written, 0 without one.
func (h HeaderFields) Identity() uint64 { return uint64(h.Fields[3]) }

// Snapshot is the snapshot that a journal needs, and 1; 0 for none.
func (h HeaderFields) Snapshot() uint64 { return uint64(h.Fields[4]) }

// ReadHeader reads the header at the beginning of a file's bytes. With an error only the file's name is known.
func ReadHeader(name string, head []byte, magic string) (h HeaderFields, err error) {
	named, isNamed := NumberOf(name)
	h.Number = named
	if len(head) < HeaderBytes || string(head[:8]) != magic ||
		binary.LittleEndian.Uint32(head[HeaderBytes-4:]) != crc32.Checksum(head[:HeaderBytes-4], castagnoli) {
		return h, &DamageError{name, 0, ErrNotOurs}
	}
	switch version := binary.LittleEndian.Uint16(head[8:]); { // the checksum has the same place in all versions
	case version > FormatVersion:
		return h, &DamageError{name, 8, fmt.Errorf("format version %d: %w", version, ErrNewer)}
	case version < FormatVersion: // no release wrote one
		return h, &DamageError{name, 8, fmt.Errorf("format version %d, written by a build before 0.2.0: start with an empty --dir: %w", version, ErrNotOurs)}
	}
	if h.Number = binary.LittleEndian.Uint64(head[16:]); isNamed && named != h.Number {
		return h, &DamageError{name, 16, ErrRenamed}
	}
	for i := range h.Fields {
		h.Fields[i] = int64(binary.LittleEndian.Uint64(head[24+8*i:]))
	}
	return h, nil
}

// AlignBlock rounds the size of a block up to where the next one begins.
func AlignBlock(n int64) int64 { return (n + BlockAlign - 1) &^ (BlockAlign - 1) }

func blockSum(number uint64, offset int64, payload []byte) uint32 {
	var place [16]byte
	binary.LittleEndian.PutUint64(place[:], number)
	binary.LittleEndian.PutUint64(place[8:], uint64(offset))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, payload)
}

// SealBlock fills in the head of the block b, whose payload begins at b[BlockHead:], and adds zeros up to the place of
// the next block.
func SealBlock(b []byte, number uint64, offset int64) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-BlockHead))
	binary.LittleEndian.PutUint32(b[4:], blockSum(number, offset, b[BlockHead:]))
	return append(b, make([]byte, AlignBlock(int64(len(b)))-int64(len(b)))...)
}

// PayloadHead is the size of what a block's payload begins with: its time in a snapshot or journal, or the index of an
// entry of a log, and the offset up to which the file was durable when the block was written.
const PayloadHead = 16

// PayloadHeader returns a payload's time and the offset up to which the journal was durable.
func PayloadHeader(payload []byte) (now, synced int64, ok bool) {
	if len(payload) < PayloadHead {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint64(payload)), int64(binary.LittleEndian.Uint64(payload[8:])), true
}

// SyncedIn is the offset up to which the journal was durable when a block of it was written.
func SyncedIn(payload []byte) int64 {
	_, synced, _ := PayloadHeader(payload)
	return synced
}

// SyncedHint is the largest of these offsets in the whole blocks after a damaged place.
func SyncedHint(tail []byte, number uint64, offset int64) (durable int64) {
	WholeBlocks(tail, number, offset, func(_ int64, payload []byte) { durable = max(durable, SyncedIn(payload)) })
	return durable
}

// The reasons of a [DamageError].
var (
	ErrNotOurs  = errors.New("not a file of Stint's, or its first bytes are damaged")
	ErrNewer    = errors.New("written by a newer version of Stint, in a format this one does not know; start that version")
	ErrDamaged  = errors.New("damaged")
	ErrCutShort = errors.New("ends in the middle of a block")
	ErrShorter  = errors.New("ends before what had been synced to disk: it was cut off, or is an older copy")
	ErrRenamed  = errors.New("has the number of another file in it: it was renamed, or damaged")
	ErrAbsent   = errors.New("is missing")
	ErrForeign  = errors.New("is another directory's: their identities differ")
	ErrLeftOut  = errors.New("follows a journal whose end a crash has torn")
)

// DamageError says where a file has changed since it was written, and how.
type DamageError struct {
	Name   string
	Offset int64 // negative if it is the file that is missing, or in the wrong place
	Err    error
}

// Absent returns the damage of a whole file: it is missing, or in the wrong place.
func Absent(name string, err error) *DamageError { return &DamageError{name, -1, err} }

// IsMissing returns the damage of a file that should be there, and says why.
func IsMissing(name, reason string) *DamageError {
	return Absent(name, fmt.Errorf("%w: %s", ErrAbsent, reason))
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

// BlockReader reads a file block by block.
type BlockReader struct {
	Name        string // of the file
	in          *bufio.Reader
	isJournal   bool
	Number      uint64
	Head        HeaderFields
	Predecessor Predecessor // of a journal
	Keys        int64       // of a snapshot: their approximate number
	Offset      int64       // of the next block
	payload     []byte
}

// NewBlockReader reads a file's header. With an error only the file's name is known.
func NewBlockReader(name string, in io.Reader, magic string) (*BlockReader, error) {
	r := &BlockReader{Name: name, in: bufio.NewReaderSize(in, FullBlockBytes), isJournal: magic == JournalMagic}
	r.Number, _ = NumberOf(name)
	var first [HeaderBytes]byte
	n, err := io.ReadFull(r.in, first[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return r, err
	}
	head, err := ReadHeader(name, first[:n], magic)
	r.Head = head
	if r.Number = head.Number; err != nil {
		return r, err
	}
	r.Offset = HeaderBytes
	if !r.isJournal {
		r.Keys = head.Fields[0]
		return r, nil
	}
	r.Predecessor = Predecessor{Durable: head.Fields[0], Ended: head.Fields[1], Before: uint64(head.Fields[2])}
	return r, nil
}

// Next returns the payload of the next block, good until the next call. It returns io.EOF at the end of the file, and a
// [DamageError] for a block that is not whole.
func (r *BlockReader) Next() ([]byte, error) {
	var head [BlockHead]byte
	switch n, err := io.ReadFull(r.in, head[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil, io.EOF
	case err == io.ErrUnexpectedEOF:
		return nil, r.Damage(ErrCutShort)
	case err != nil:
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == 0 && r.isJournal {
		return nil, r.room(head[4:])
	}
	if size < PayloadHead || size > MaxBlockBytes {
		return nil, r.Damage(ErrDamaged)
	}
	padded := AlignBlock(BlockHead+int64(size)) - BlockHead
	if int64(cap(r.payload)) < padded {
		r.payload = make([]byte, padded)
	}
	r.payload = r.payload[:padded]
	switch _, err := io.ReadFull(r.in, r.payload); {
	case errors.Is(err, io.EOF) || err == io.ErrUnexpectedEOF:
		return nil, r.Damage(ErrCutShort)
	case err != nil:
		return nil, err
	}
	if binary.LittleEndian.Uint32(head[4:]) != blockSum(r.Number, r.Offset, r.payload[:size]) {
		return nil, r.Damage(ErrDamaged)
	}
	r.Offset += BlockHead + padded
	return r.payload[:size], nil
}

// room returns io.EOF if the rest of the file is zeros: room for more blocks.
func (r *BlockReader) room(read []byte) error {
	buf := make([]byte, 32<<10)
	for {
		if len(bytes.TrimLeft(read, "\x00")) > 0 {
			return r.Damage(ErrDamaged)
		}
		n, err := r.in.Read(buf)
		if n == 0 && err != nil {
			return err
		}
		read = buf[:n]
	}
}

// Damage returns an error at the next block.
func (r *BlockReader) Damage(err error) error { return &DamageError{r.Name, r.Offset, err} }

// WholeBlocks calls visit for the whole blocks after a damaged place, base, of a file.
func WholeBlocks(tail []byte, number uint64, base int64, visit func(offset int64, payload []byte)) {
	end := base + int64(len(tail))
	for offset := max(AlignBlock(base+1), HeaderBytes); offset < end; {
		payload, ok := BlockAt(tail, number, base, offset)
		if !ok {
			offset += BlockAlign
			continue
		}
		visit(offset, payload)
		offset += AlignBlock(BlockHead + int64(len(payload)))
	}
}

// BlockAt returns the payload of a whole block at an offset of a file's bytes.
func BlockAt(data []byte, number uint64, base, offset int64) (payload []byte, ok bool) {
	b := data[offset-base:]
	if len(b) < BlockHead {
		return nil, false
	}
	size := int64(binary.LittleEndian.Uint32(b))
	if size < PayloadHead || size > MaxBlockBytes || BlockHead+size > int64(len(b)) {
		return nil, false
	}
	payload = b[BlockHead : BlockHead+size]
	if _, synced, _ := PayloadHeader(payload); synced < 0 || synced > offset {
		return nil, false // saves the checksum of bytes that cannot be a block
	}
	return payload, binary.LittleEndian.Uint32(b[4:]) == blockSum(number, offset, payload)
}
