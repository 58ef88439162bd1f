package main

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/stintdb/stint/persistence/disk"
)

// memoryFiles is a disk.FS in memory, for tests that write too many files for a disk.
type memoryFiles struct {
	mu    sync.Mutex // the manager writes snapshots on a separate goroutine
	files map[string]*memoryFile
}

type memoryFile struct{ data []byte }

func newMemoryFiles() *memoryFiles { return &memoryFiles{files: map[string]*memoryFile{}} }

func (m *memoryFiles) get(name string) (*memoryFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[name]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

// Create implements [disk.FS].
func (m *memoryFiles) Create(name string) (disk.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = &memoryFile{}
	return m.files[name], nil
}

// Edit implements [disk.FS].
func (m *memoryFiles) Edit(name string) (disk.File, error) {
	f, err := m.get(name)
	return f, err
}

// Open implements [disk.FS].
func (m *memoryFiles) Open(name string) (io.ReadCloser, error) {
	f, err := m.get(name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(f.data)), nil
}

// Rename implements [disk.FS].
func (m *memoryFiles) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[newName] = m.files[oldName]
	delete(m.files, oldName)
	return nil
}

// Remove implements [disk.FS].
func (m *memoryFiles) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

// Rewrite implements [disk.FS].
func (m *memoryFiles) Rewrite(name string, _, size int64) error {
	f, err := m.get(name)
	if err != nil {
		return err
	}
	return f.Truncate(size)
}

// List implements [disk.FS].
func (m *memoryFiles) List() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files)), nil
}

// SyncDir implements [disk.FS].
func (m *memoryFiles) SyncDir() error { return nil }

// Write implements [disk.File].
func (f *memoryFile) Write(b []byte) (int, error) {
	f.data = append(f.data, b...)
	return len(b), nil
}

// WriteAt implements [disk.File].
func (f *memoryFile) WriteAt(b []byte, at int64) (int, error) {
	if grow := int(at) + len(b) - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[at:], b), nil
}

// ReadAt implements [disk.File].
func (f *memoryFile) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(b, at)
}

// Sync implements [disk.File].
func (f *memoryFile) Sync() error { return nil }

// Truncate implements [disk.File].
func (f *memoryFile) Truncate(size int64) error {
	f.data = append(f.data, make([]byte, max(0, int(size)-len(f.data)))...)[:size]
	return nil
}

// Close implements [disk.File].
func (f *memoryFile) Close() error { return nil }
