// Package importing divides the state that a new cluster begins with into parts: a file for each of its groups.
package importing

import (
	"bufio"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// Parts writes all parts in one scan when the first one is opened. A node that is started again writes all of them
// again, so no part is left over from an earlier run.
type Parts struct {
	dir     string
	from    *store.Store // nil once the files are written; guarded by mu
	at      int64
	place   func(keyspace.Entry) int
	written func(number int)

	closed atomic.Bool
	mu     sync.Mutex // guards the fields below, and is held while the files are written
	files  []part
}

// part is one file, and the bytes written to it.
type part struct {
	path string
	size int64
	sum  uint32 // CRC-32C
}

// New divides the state of a store at a time, in Unix nanoseconds, into count parts. place returns the number of the
// part of an entry, and a negative number for an entry that is in no part. written, if it is not nil, is called for
// each file that is on disk. The store is closed once all files are on disk, or by Close.
func New(dir string, from *store.Store, at int64, count int, place func(keyspace.Entry) int,
	written func(number int)) *Parts {
	p := &Parts{dir: dir, from: from, at: at, place: place, written: written, files: make([]part, count)}
	for number := range p.files {
		p.files[number].path = filepath.Join(dir, fmt.Sprintf("import-%d.tmp", number))
	}
	return p
}

// Open opens a part, after a first reading has shown that the file is as it was written.
func (p *Parts) Open(number int) (state io.ReadCloser, size int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return nil, 0, os.ErrClosed
	}
	if p.from != nil {
		if err := p.write(); err != nil {
			return nil, 0, err
		}
	}
	part := &p.files[number]
	file, err := os.Open(part.path)
	switch {
	case errors.Is(err, os.ErrNotExist): // another try would not help
		return nil, 0, fmt.Errorf("%s %w: it was removed", part.path, ErrDamaged)
	case err != nil:
		return nil, 0, err
	}
	if err := part.check(file); err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, part.size, nil
}

func (p *part) check(file *os.File) error {
	sum := crc32.New(castagnoli)
	size, err := io.Copy(sum, file)
	switch {
	case err != nil:
		return err
	case size != p.size:
		return fmt.Errorf("%s %w: it has %d bytes, and %d were written", p.path, ErrDamaged, size, p.size)
	case sum.Sum32() != p.sum:
		return fmt.Errorf("%s %w: its checksum is %08x, and that of what was written %08x", p.path, ErrDamaged, sum.Sum32(),
			p.sum)
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// ErrDamaged says that a part is not as it was written. The next run of the node writes it again.
var ErrDamaged = errors.New("is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (p *Parts) write() (err error) {
	files := make([]*partFile, 0, len(p.files))
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.file.Close())
		}
	}()
	to := make([]io.Writer, 0, len(p.files))
	for number := range p.files {
		f, err := p.create(p.files[number].path)
		if err != nil {
			return err
		}
		files, to = append(files, f), append(to, f)
	}
	frozen := p.from.Snapshot()
	err = persistence.DivideState(to, frozen, p.at, p.place)
	frozen.Release()
	if err != nil {
		return err
	}
	for number, f := range files {
		if err := f.sync(); err != nil {
			return err
		}
		p.files[number].size, p.files[number].sum = f.size, f.sum.Sum32()
		if p.written != nil {
			p.written(number)
		}
	}
	p.from.Close()
	p.from = nil
	return nil
}

// Close removes the files. An Open that is under way ends first, with an error.
func (p *Parts) Close() {
	p.closed.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.files {
		_ = os.Remove(f.path)
	}
	if p.from != nil {
		p.from.Close()
		p.from = nil
	}
}

// partFile is a file that is being written.
type partFile struct {
	closed *atomic.Bool
	file   *os.File
	out    *bufio.Writer
	size   int64
	sum    hash.Hash32
}

func (p *Parts) create(path string) (*partFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &partFile{closed: &p.closed, file: file, out: bufio.NewWriter(file), sum: crc32.New(castagnoli)}, nil
}

func (f *partFile) Write(b []byte) (int, error) {
	if f.closed.Load() {
		return 0, os.ErrClosed
	}
	n, err := f.out.Write(b)
	f.size += int64(n)
	_, _ = f.sum.Write(b[:n])
	return n, err
}

func (f *partFile) sync() error {
	if err := f.out.Flush(); err != nil {
		return err
	}
	return f.file.Sync()
}
