package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/internal/atomicfile"
)

// FS is as much of a file system as this needs: the files of one directory.
type FS interface {
	// Create makes an empty file, truncating one of the same name.
	Create(name string) (File, error)
	// Edit opens an existing file unchanged.
	Edit(name string) (File, error)
	Open(name string) (io.ReadCloser, error)
	// Rename replaces newName if it exists, atomically.
	Rename(oldName, newName string) error
	Remove(name string) error
	// Rewrite truncates a file that is not open for writing to a size, writes its contents from an offset again, and
	// syncs it. Data that can be read may exist only in the kernel's memory, because after a failed sync the kernel
	// marks unwritten data as written.
	Rewrite(name string, from, size int64) error
	List() ([]string, error)
	// SyncDir makes created, renamed and removed names durable.
	SyncDir() error
}

// File is a file being written.
type File interface {
	io.Writer
	io.WriterAt
	io.ReaderAt
	// Sync makes the contents and the size durable.
	Sync() error
	Truncate(size int64) error
	Close() error
}

// Dir is an FS in a directory of the operating system.
type Dir string

// Create implements [FS].
func (d Dir) Create(name string) (File, error) { return d.open(name, os.O_CREATE|os.O_TRUNC) }

// Edit implements [FS].
func (d Dir) Edit(name string) (File, error) { return d.open(name, 0) }

func (d Dir) open(name string, flags int) (File, error) {
	f, err := openFile(string(d), name, os.O_RDWR|flags)
	if err != nil {
		return nil, err
	}
	return dirFile{f}, nil
}

// dirFile is a File of the operating system.
type dirFile struct{ *os.File }

// Sync implements [File].
func (f dirFile) Sync() error { return syncData(f.File) }

// Open implements [FS].
func (d Dir) Open(name string) (io.ReadCloser, error) { return openFile(string(d), name, os.O_RDONLY) }

// Rename implements [FS].
func (d Dir) Rename(oldName, newName string) error {
	return os.Rename(filepath.Join(string(d), oldName), filepath.Join(string(d), newName))
}

// Remove implements [FS].
func (d Dir) Remove(name string) error { return os.Remove(filepath.Join(string(d), name)) }

// Rewrite implements [FS].
func (d Dir) Rewrite(name string, from, size int64) error {
	f, err := openFile(string(d), name, os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), copyInPlace(f, from, size), f.Sync(), f.Close())
}

func copyInPlace(f *os.File, from, size int64) error {
	_, err := io.Copy(io.NewOffsetWriter(f, from), io.NewSectionReader(f, from, size-from))
	return err
}

// List implements [FS].
func (d Dir) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// SyncDir implements [FS].
func (d Dir) SyncDir() error { return atomicfile.SyncDir(string(d)) }

// Copy copies a file durably.
func Copy(fs FS, from, to string) error {
	in, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fs.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// ReadFrom returns the bytes of a file from an offset on.
func ReadFrom(fs FS, name string, offset int64) ([]byte, error) {
	in, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if _, err := io.CopyN(io.Discard, in, offset); err != nil {
		return nil, err
	}
	return io.ReadAll(in)
}

// ReadOnly is an FS whose Edit opens a file only for reading, so that it works on a file system that is mounted
// read-only.
type ReadOnly struct{ FS }

// Edit implements [FS].
func (r ReadOnly) Edit(name string) (File, error) {
	in, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	at, ok := in.(io.ReaderAt)
	if !ok {
		return nil, errors.Join(fs.ErrInvalid, in.Close())
	}
	return readOnlyFile{at, in}, nil
}

// readOnlyFile is a File of which only the reading methods are called.
type readOnlyFile struct {
	io.ReaderAt
	io.Closer
}

func (readOnlyFile) Write([]byte) (int, error)          { return 0, fs.ErrPermission }
func (readOnlyFile) WriteAt([]byte, int64) (int, error) { return 0, fs.ErrPermission }
func (readOnlyFile) Sync() error                        { return fs.ErrPermission }
func (readOnlyFile) Truncate(int64) error               { return fs.ErrPermission }
