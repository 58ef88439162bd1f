package raftstore

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence/disk"
)

// A snapshot's file, <term>-<index>-<number>.stint, is
//
//	8  "STINTRSN"
//	4  version
//	4  length n of the next field
//	n  JSON: snapshotMeta
//	4  CRC-32C of all before
//	   the state, in the format of the state machine
//	8  length of the state
//	4  CRC-32C of all before
//
// The file is complete once it has its name, which the meta data repeats.
const (
	snapshotFileMagic   = "STINTRSN"
	snapshotFileVersion = 1
	snapshotFileSuffix  = ".stint"
	snapshotTail        = 8 + 4
	maxSnapshotMeta     = 4 << 20
)

// snapshotMeta is Raft's description of a snapshot.
type snapshotMeta struct {
	ID                 string             `json:"id"`
	Index              uint64             `json:"index"`
	Term               uint64             `json:"term"`
	Configuration      raft.Configuration `json:"configuration"`
	ConfigurationIndex uint64             `json:"configuration_index"`
	// Incarnation is the incarnation of the node that has the snapshot. Files of earlier versions lack it.
	Incarnation string `json:"incarnation,omitempty"`
}

// raftMeta returns m in Raft's form.
func (m *snapshotMeta) raftMeta(size int64) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{Version: raft.SnapshotVersionMax, ID: m.ID, Index: m.Index, Term: m.Term,
		Configuration: m.Configuration, ConfigurationIndex: m.ConfigurationIndex, Size: size}
}

// snapshotID is a snapshot's name, as Raft's own stores write it. The number is the time when it was begun, in Unix
// milliseconds.
type snapshotID struct{ term, index, number uint64 }

func (id snapshotID) String() string { return fmt.Sprintf("%d-%d-%d", id.term, id.index, id.number) }

func parseSnapshotID(text string) (id snapshotID, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 3 {
		return id, false
	}
	for i, to := range []*uint64{&id.term, &id.index, &id.number} {
		n, err := strconv.ParseUint(parts[i], 10, 64)
		if *to = n; err != nil {
			return id, false
		}
	}
	return id, id.String() == text
}

// SnapshotTime returns when the snapshot with an id was begun; the zero time if the id cannot be read.
func SnapshotTime(id string) time.Time {
	parsed, ok := parseSnapshotID(id)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(int64(parsed.number))
}

// snapshotWriter writes a snapshot's file.
type snapshotWriter struct {
	file *atomicfile.File
	out  *bufio.Writer
	sum  uint32
	size int64 // of the state
}

func createSnapshotFile(dir string, meta snapshotMeta) (*snapshotWriter, error) {
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	file, err := atomicfile.Create(filepath.Join(dir, meta.ID+snapshotFileSuffix))
	if err != nil {
		return nil, err
	}
	w := &snapshotWriter{file: file, out: bufio.NewWriterSize(file, 256<<10)}
	head := binary.LittleEndian.AppendUint32([]byte(snapshotFileMagic), snapshotFileVersion)
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(text))), text...)
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	if _, err := w.Write(head); err != nil {
		file.Abort()
		return nil, err
	}
	w.size = 0
	return w, nil
}

// Write adds to the state.
func (w *snapshotWriter) Write(b []byte) (int, error) {
	w.sum, w.size = crc32.Update(w.sum, castagnoli, b), w.size+int64(len(b))
	return w.out.Write(b)
}

// finish makes the file durable and gives it its name.
func (w *snapshotWriter) finish() error {
	tail := binary.LittleEndian.AppendUint64(nil, uint64(w.size))
	tail = binary.LittleEndian.AppendUint32(tail, crc32.Update(w.sum, castagnoli, tail))
	_, err := w.out.Write(tail)
	if err = errors.Join(err, w.out.Flush()); err != nil {
		w.file.Abort()
		return err
	}
	return w.file.Commit()
}

// openSnapshotFile opens a snapshot's file and checks all of it. It refuses a file of another incarnation, unless
// incarnation is "". The returned reader reads the state.
func openSnapshotFile(path, incarnation string) (meta *raft.SnapshotMeta, state io.ReadCloser, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	head, at, err := readSnapshotFileHead(file)
	if err == nil && head.ID+snapshotFileSuffix != filepath.Base(path) {
		err = fmt.Errorf("%w: it is the snapshot %s by its own account", errDamaged, head.ID)
	}
	if err == nil && incarnation != "" && head.Incarnation != "" && head.Incarnation != incarnation {
		err = fmt.Errorf("%w: it is of the incarnation %s, and %s names %s", errDamaged, head.Incarnation, IdentityFile,
			incarnation)
	}
	var size int64
	if err == nil {
		size, err = checkSnapshotFile(file, at)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	type section struct {
		io.Reader
		io.Closer
	}
	return head.raftMeta(size), section{io.NewSectionReader(file, at, size), file}, nil
}

// readSnapshotFileHead returns the meta data, and where the state begins.
func readSnapshotFileHead(file io.ReaderAt) (meta snapshotMeta, state int64, err error) {
	fixed := make([]byte, 16)
	if _, err := file.ReadAt(fixed, 0); err != nil {
		return meta, 0, cutShort(err)
	}
	size := binary.LittleEndian.Uint32(fixed[12:])
	if string(fixed[:8]) != snapshotFileMagic || size > maxSnapshotMeta {
		return meta, 0, fmt.Errorf("%w: it does not begin as a snapshot does", errDamaged)
	}
	rest := make([]byte, size+4)
	if _, err := file.ReadAt(rest, 16); err != nil {
		return meta, 0, cutShort(err)
	}
	if crc32.Update(crc32.Checksum(fixed, castagnoli), castagnoli,
		rest[:size]) != binary.LittleEndian.Uint32(rest[size:]) {
		return meta, 0, fmt.Errorf("%w in its meta data", errDamaged)
	}
	if version := binary.LittleEndian.Uint32(fixed[8:]); version > snapshotFileVersion {
		return meta, 0, fmt.Errorf("version %d: %w", version, disk.ErrNewer)
	}
	err = json.Unmarshal(rest[:size], &meta)
	return meta, 16 + int64(size) + 4, err
}

// checkSnapshotFile reads all of a file, and returns the size of the state that begins at an offset.
func checkSnapshotFile(file *os.File, state int64) (size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if size = info.Size() - state - snapshotTail; size < 0 {
		return 0, cutShort(io.EOF)
	}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, info.Size()-4)); err != nil {
		return 0, err
	}
	tail := make([]byte, snapshotTail)
	if _, err := file.ReadAt(tail, info.Size()-snapshotTail); err != nil {
		return 0, cutShort(err)
	}
	if binary.LittleEndian.Uint64(tail) != uint64(size) || binary.LittleEndian.Uint32(tail[8:]) != sum.Sum32() {
		return 0, fmt.Errorf("%w or cut short", errDamaged)
	}
	return size, nil
}

// cutShort returns the error of a file that ends too early, or err if that is another error.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it has been cut short", errDamaged)
	}
	return err
}
