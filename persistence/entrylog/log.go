package entrylog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/persistence/disk"
)

// Errors of a [Log].
var (
	ErrNoEntry = errors.New("no such entry in the log")
	ErrNoLog   = errors.New("there is no log")
)

// Entry is an entry of a [Log].
type Entry struct {
	Index uint64
	Data  []byte
}

// Log keeps numbered entries, which are durable when Append returns: the storage of a Raft log. One write
// and one sync keep a batch. Methods may be called from any goroutine; Get does not wait for a sync.
//
// Files are only ever appended to. An entry whose index is not the next replaces the entries in conflict with it: the
// old entry of that index and all after it; or all entries, if it leaves a gap. So entries dropped by DropFrom come
// back if the process ends before the next Append, and entries dropped by DropBefore while they share a file with
// others. Neither harms Raft, because it acknowledges nothing based on a drop.
type Log struct {
	fs           disk.FS
	manifest     *disk.Manifest // of the directory
	segmentBytes int64
	syncs        atomic.Int64

	writing sync.Mutex // held over Append
	current *segment   // the last one
	buf     []byte     // of the current write

	removing sync.Mutex // held to remove old segments in order

	mu       sync.RWMutex
	first    uint64  // index of places[0]
	places   []place // of the entries, in order
	segments []*segment
	recycled []*segment
}

// place is the position of an entry.
type place struct {
	in     *segment
	offset int64
}

// keepBytes is the largest buffer to reuse for the next write.
const keepBytes = 1 << 20

// maxRecycled bounds the unused files kept for reuse.
const maxRecycled = 16

// put records the position of an entry. The caller holds mu.
func (l *Log) put(index uint64, p place) {
	if next := l.first + uint64(len(l.places)); index < l.first || index > next {
		l.places = l.places[:0]
	}
	if len(l.places) == 0 {
		l.first = index
	}
	l.places = append(l.places[:index-l.first], p)
}

// Range returns the indexes of the first and the last entry, both 0 if there is none.
func (l *Log) Range() (first, last uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.places) == 0 {
		return 0, 0
	}
	return l.first, l.first + uint64(len(l.places)) - 1
}

// Get returns an entry, or [ErrNoEntry].
func (l *Log) Get(index uint64) ([]byte, error) {
	p, ok := l.place(index)
	if !ok {
		return nil, ErrNoEntry
	}
	data, err := p.in.entryAt(p.offset, index)
	if err != nil {
		if now, ok := l.place(index); !ok || now != p {
			return nil, ErrNoEntry // it was dropped, and its file has been reused
		}
	}
	return data, err
}

func (l *Log) place(index uint64) (p place, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if index < l.first || index >= l.first+uint64(len(l.places)) {
		return p, false
	}
	return l.places[index-l.first], true
}

// Append adds entries and returns when they are durable. After an error the first of them may be durable.
func (l *Log) Append(entries []Entry) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for len(entries) > 0 {
		n, err := l.appendFitting(entries)
		if err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// appendFitting adds the entries that fit into the current segment.
func (l *Log) appendFitting(entries []Entry) (n int, err error) {
	if need := blockBytes(entries[0]); need > disk.MaxBlockBytes {
		return 0, fmt.Errorf("an entry of %d bytes does not fit the log", len(entries[0].Data))
	} else if l.current.closed || l.current.end+need > l.current.size {
		if err := l.begin(max(l.segmentBytes, disk.HeaderBytes+need)); err != nil {
			return 0, err
		}
	}
	s := l.current
	l.buf = l.buf[:0]
	var at []int64
	for _, e := range entries {
		offset := s.end + int64(len(l.buf))
		if offset+blockBytes(e) > s.size {
			break
		}
		l.buf = appendEntry(l.buf, e, s, offset)
		at = append(at, offset)
	}
	if err := s.append(l.buf); err != nil {
		return 0, err
	}
	l.syncs.Add(1)
	if cap(l.buf) > keepBytes {
		l.buf = nil
	}
	l.mu.Lock()
	for i, offset := range at {
		l.put(entries[i].Index, place{s, offset})
	}
	l.mu.Unlock()
	return len(at), l.manifest.IsDurable(s.number, s.end)
}

func blockBytes(e Entry) int64 {
	return disk.AlignBlock(disk.BlockHead + disk.PayloadHead + int64(len(e.Data)))
}

// appendEntry adds the block of an entry at an offset of a segment to buf.
func appendEntry(buf []byte, e Entry, s *segment, offset int64) []byte {
	start := len(buf)
	buf = append(buf, make([]byte, disk.BlockHead)...)
	buf = binary.LittleEndian.AppendUint64(buf, e.Index)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.end))
	buf = append(buf, e.Data...)
	return append(buf[:start], disk.SealBlock(buf[start:], s.number, offset)...) // in place, unless buf had to grow
}

// begin begins a segment of a size. From then on bytes after the end of the previous segment are not read, so that
// segment is closed first, even if this fails.
func (l *Log) begin(size int64) error {
	number, before := uint64(1), int64(0)
	if l.current != nil {
		l.current.closed = true
		number, before = l.current.number+1, l.current.end
	}
	s, err := createSegment(l.fs, l.manifest.Identity(), number, size, before, l.takeRecycled(size))
	if err != nil {
		return err
	}
	l.current = s
	l.mu.Lock()
	l.segments = append(l.segments, s)
	l.mu.Unlock()
	return nil
}

func (l *Log) takeRecycled(size int64) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.recycled)
	if n == 0 || size != l.segmentBytes {
		return nil
	}
	s := l.recycled[n-1]
	l.recycled = l.recycled[:n-1]
	return s
}

// Syncs is how often Append has made blocks durable.
func (l *Log) Syncs() int64 { return l.syncs.Load() }

// Identity is the identity of the log's directory.
func (l *Log) Identity() uint64 { return l.manifest.Identity() }

// Position is how much has been written to the log, in a measure that only grows.
func (l *Log) Position() uint64 { return l.manifest.Position() }

// DropFrom drops the entry of an index and all after it.
func (l *Log) DropFrom(index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places = l.places[:min(max(index, l.first)-l.first, uint64(len(l.places)))]
}

// DropBefore drops all entries before an index, and retires the files that held only those.
func (l *Log) DropBefore(index uint64) error {
	l.removing.Lock()
	defer l.removing.Unlock()
	l.mu.Lock()
	n := min(max(index, l.first)-l.first, uint64(len(l.places)))
	l.places = slices.Clone(l.places[n:])
	l.first += n
	l.mu.Unlock()
	for {
		old := l.unneeded()
		if old == nil {
			return nil
		}
		if err := l.retire(old); err != nil {
			return err
		}
	}
}

// unneeded returns the first segment if no entry is in it and it is not the last.
func (l *Log) unneeded() *segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := l.segments[0]
	if len(l.segments) == 1 || len(l.places) > 0 && l.places[0].in == s {
		return nil
	}
	return s
}

// retire removes the name of the first segment, durably and before the next segment is retired, so that a missing one
// is always a loss.
func (l *Log) retire(s *segment) error {
	recycled := &segment{name: s.name + disk.RecycledSuffix, file: s.file, filled: s.filled}
	err := l.fs.Rename(s.name, recycled.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // only the sync failed last time
	}
	if err = errors.Join(err, l.fs.SyncDir()); err != nil {
		return err
	}
	l.mu.Lock()
	l.segments = l.segments[1:]
	keep := len(l.recycled) < maxRecycled && s.size == l.segmentBytes
	if keep {
		l.recycled = append(l.recycled, recycled)
	}
	l.mu.Unlock()
	if !keep {
		return errors.Join(recycled.file.Close(), l.fs.Remove(recycled.name))
	}
	return nil
}

// Close closes the files. All appended entries are durable.
func (l *Log) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.manifest != nil {
		err = l.manifest.Close()
	}
	for _, s := range slices.Concat(l.segments, l.recycled) {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
