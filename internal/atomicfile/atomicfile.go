// Package atomicfile replaces files that may be read at the same time. Even after a crash a file holds either its
// complete old content or its complete new content.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// TempSuffix ends the name of a file that is not complete. A crash may leave one behind; it can be removed.
const TempSuffix = ".tmp"

var errNoFile = errors.New("it is not a regular file")

// Write makes a file hold content, durably, and readable by the server's own account only. After an error the file is
// as it was, unless only making the new name durable failed.
func Write(path string, content []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// File is the new content of a file, in a temporary file beside it until Commit.
type File struct {
	*os.File
	path string
}

// Create begins the new content of the file at path, or of the one that a symbolic link there names, which stays as it
// is until Commit. Either Commit or Abort ends it.
func Create(path string) (*File, error) {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "write", Path: path, Err: errNoFile}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+TempSuffix) // 0600
	if err != nil {
		return nil, err
	}
	return &File{temp, path}, nil
}

// Commit makes the content durable and then gives it the name. After an error the file at the path is as it was, unless
// only making the new name durable failed.
func (f *File) Commit() error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return SyncDir(filepath.Dir(f.path))
}

// Abort drops the new content.
func (f *File) Abort() {
	_ = f.Close()
	_ = os.Remove(f.Name())
}
