package disk

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// ManifestFile is the name of the file with the identity of a directory, and with claims about its other files. It has
// two copies of one header, at the offsets 0 and manifestSlot. The copy with the larger number counts; a crash during a
// write leaves the other copy:
//
//	0    8   "STINTMAN"
//	8    2   version of the format
//	16   8   number of the write
//	24   8   identity of the directory, which its other files repeat
//	32   32  claims, 8 bytes each
//	124  4   CRC-32C of the 124 bytes before
//
// Every claim is about data that was on disk when the claim was written, and files only grow. So a manifest that is
// older than the files does no harm, and most of its writes need no sync.
const (
	ManifestFile  = "manifest" + suffix
	manifestMagic = "STINTMAN"
	manifestSlot  = 4096
)

// Claims say what a directory holds at least.
type Claims struct {
	First    uint64 // files with a lower number were there before the directory had an identity
	Snapshot uint64 // number of the newest complete snapshot, and 1; 0 for none
	Last     uint64 // number of the newest journal, or part of a log, of which something is durable, and 1; 0 for none
	Bytes    uint64 // how many bytes of that file are durable
}

// Manifest is the manifest of a directory. Its methods may be called from any goroutine.
type Manifest struct {
	file     File
	identity uint64

	mu     sync.Mutex
	number uint64 // of the last write
	head   [HeaderBytes]byte
	claims Claims
}

// IsManifest reports whether a file with this name is a manifest.
func IsManifest(name string) bool { return name == ManifestFile }

// Adopt begins the manifest of a directory that has only a snapshot, which may have the identity of another directory.
func Adopt(dir FS, snapshot uint64) error {
	m := NewManifest(Claims{First: snapshot + 1, Snapshot: snapshot + 1})
	return errors.Join(m.Create(dir), m.Close())
}

// DescribeManifest returns a line with the claims of a directory's manifest.
func DescribeManifest(dir FS) (string, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("whole; the directory has the identity %016x", m.identity)
	if m.claims.Snapshot > 0 {
		text += ", and at least " + FileName(SnapshotPrefix, m.claims.Snapshot-1)
	}
	if m.claims.Last > 0 {
		text += fmt.Sprintf(", and at least %d bytes of %s", m.claims.Bytes, FileName(JournalPrefix, m.claims.Last-1))
	}
	return text, nil
}

// ReadManifest reads the manifest of a directory, which may be in use. The error is a [DamageError] unless reading
// failed.
func ReadManifest(dir FS) (*Manifest, error) {
	in, err := dir.Open(ManifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Absent(ManifestFile, ErrAbsent)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, manifestSlot+HeaderBytes))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	var found *Manifest
	var damage error
	for at := 0; at <= manifestSlot; at += manifestSlot {
		head, err := ReadHeader(ManifestFile, data[min(at, len(data)):min(at+HeaderBytes, len(data))], manifestMagic)
		switch {
		case errors.Is(err, ErrNewer):
			return nil, err
		case err != nil:
			damage = err
		case found == nil || head.Number > found.number:
			f := head.Fields
			found = &Manifest{identity: uint64(f[0]), number: head.Number, claims: Claims{uint64(f[1]), uint64(f[2]), uint64(f[3]), uint64(f[4])}}
		}
	}
	if found == nil {
		return nil, damage
	}
	return found, nil
}

// NewManifest returns a manifest with a new identity.
func NewManifest(c Claims) *Manifest {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	return &Manifest{identity: binary.LittleEndian.Uint64(random[:]) | 1, claims: c}
}

// Create writes the file of a manifest, durably.
func (m *Manifest) Create(dir FS) error {
	file, err := dir.Create(ManifestFile + TempSuffix)
	if err != nil {
		return err
	}
	m.file, m.number = file, m.number+2
	for range 2 {
		err = errors.Join(err, m.Update(func(*Claims) {}))
	}
	if err = errors.Join(err, file.Sync()); err == nil {
		if err = dir.Rename(ManifestFile+TempSuffix, ManifestFile); err == nil {
			err = dir.SyncDir()
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", ManifestFile, err), file.Close(), dir.Remove(ManifestFile+TempSuffix))
	}
	return nil
}

// Update changes the claims. A crash of the machine may undo it.
func (m *Manifest) Update(change func(*Claims)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change(&m.claims); m.file == nil {
		return nil
	}
	m.number++
	c := m.claims
	writeHeader(m.head[:], manifestMagic, m.number, int64(m.identity), int64(c.First), int64(c.Snapshot), int64(c.Last), int64(c.Bytes))
	_, err := m.file.WriteAt(m.head[:], int64(m.number%2)*manifestSlot)
	return err
}

// Keep is update, durably.
func (m *Manifest) Keep(change func(*Claims)) error {
	return errors.Join(m.Update(change), m.Sync())
}

// Sync makes the last update durable.
func (m *Manifest) Sync() error {
	if m.file == nil {
		return nil
	}
	return m.file.Sync()
}

// IsDurable notes that a part of a journal, or of a log, is durable.
func (m *Manifest) IsDurable(number uint64, bytes int64) error {
	if m == nil {
		return nil
	}
	return m.Update(func(c *Claims) {
		if number+1 > c.Last || number+1 == c.Last && uint64(bytes) > c.Bytes {
			c.Last, c.Bytes = number+1, uint64(bytes)
		}
	})
}

// Claims returns the claims as they are now.
func (m *Manifest) Claims() Claims {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claims
}

// Close ends the use of a manifest; its claims are durable.
func (m *Manifest) Close() error {
	if m.file == nil {
		return nil
	}
	return errors.Join(m.file.Sync(), m.file.Close())
}

// OpenManifest opens the manifest of a directory whose other files have an identity. If they have none yet, which is 0,
// and there is no manifest, it begins one.
func OpenManifest(dir FS, identity uint64) (*Manifest, error) {
	m, err := ReadManifest(dir)
	switch {
	case errors.Is(err, ErrAbsent) && identity == 0:
		m = NewManifest(Claims{})
		return m, m.Create(dir)
	case errors.Is(err, ErrAbsent):
		return nil, IsMissing(ManifestFile, "the other files have the identity that it gives")
	case err != nil:
		return nil, err
	case identity != 0 && m.identity != identity:
		return nil, m.Check(identity)
	}
	return m, m.Reopen(dir)
}

// Reopen opens the file of a manifest that was read, so that its claims can change.
func (m *Manifest) Reopen(dir FS) (err error) {
	m.file, err = dir.Edit(ManifestFile)
	return err
}

// Check refuses a manifest that is not of the directory with an identity.
func (m *Manifest) Check(identity uint64) error {
	if m.identity != identity {
		return Absent(ManifestFile, ErrForeign)
	}
	return nil
}

// Identity is the identity of the directory.
func (m *Manifest) Identity() uint64 { return m.identity }

// Raise notes how far two counts have come that never become smaller. A crash of the machine may undo it.
func (m *Manifest) Raise(first, second uint64) error {
	return m.Update(func(c *Claims) { c.First, c.Last = max(c.First, first), max(c.Last, second) })
}

// Raised returns how far the counts of Raise had come at least.
func (m *Manifest) Raised() (first, second uint64) {
	c := m.Claims()
	return c.First, c.Last
}

// Position returns how far the newest file had come at least, as a number that only grows.
func (m *Manifest) Position() uint64 {
	c := m.Claims()
	return c.Last<<32 | c.Bytes // a journal is not that large, nor a part of a log
}
