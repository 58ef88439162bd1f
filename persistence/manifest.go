package persistence

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// ManifestFile is the name of the file with the identity of a directory, and with claims about its other files. It has two copies of one header, at the offsets
// 0 and manifestSlot. The copy with the larger number counts; a crash during a write leaves the other copy:
//
//	0    8   "STINTMAN"
//	8    2   version of the format
//	16   8   number of the write
//	24   8   identity of the directory, which its other files repeat
//	32   32  claims, 8 bytes each
//	124  4   CRC-32C of the 124 bytes before
//
// Every claim is about data that was on disk when the claim was written, and files only grow. So a manifest that is older than the files does no harm, and
// most of its writes need no sync.
const (
	ManifestFile  = "manifest" + suffix
	manifestMagic = "STINTMAN"
	manifestSlot  = 4096
)

// claims say what a directory holds at least.
type claims struct {
	first    uint64 // files with a lower number were there before the directory had an identity
	snapshot uint64 // number of the newest complete snapshot, and 1; 0 for none
	last     uint64 // number of the newest journal, or part of a log, of which something is durable, and 1; 0 for none
	bytes    uint64 // how many bytes of that file are durable
}

// Manifest is the manifest of a directory. Its methods may be called from any goroutine.
type Manifest struct {
	file     File
	identity uint64

	mu     sync.Mutex
	number uint64 // of the last write
	head   [headerBytes]byte
	claims claims
}

// IsManifest reports whether a name is that of a manifest.
func IsManifest(name string) bool { return name == ManifestFile }

// Adopt begins the manifest of a directory that has only a snapshot, which may have the identity of another directory.
func Adopt(dir FS, snapshot uint64) error {
	m := newManifest(claims{first: snapshot + 1, snapshot: snapshot + 1})
	return errors.Join(m.create(dir), m.Close())
}

// DescribeManifest returns a line with the claims of a directory's manifest.
func DescribeManifest(dir FS) (string, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("whole; the directory has the identity %016x", m.identity)
	if m.claims.snapshot > 0 {
		text += ", and at least " + fileName(snapshotPrefix, m.claims.snapshot-1)
	}
	if m.claims.last > 0 {
		text += fmt.Sprintf(", and at least %d bytes of %s", m.claims.bytes, fileName(journalPrefix, m.claims.last-1))
	}
	return text, nil
}

// ReadManifest reads the manifest of a directory, which may be in use. The error is a [DamageError] unless reading failed.
func ReadManifest(dir FS) (*Manifest, error) {
	in, err := dir.Open(ManifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(ManifestFile, errAbsent)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, manifestSlot+headerBytes))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	var found *Manifest
	var damage error
	for at := 0; at <= manifestSlot; at += manifestSlot {
		head, err := readHeader(ManifestFile, data[min(at, len(data)):min(at+headerBytes, len(data))], manifestMagic)
		switch {
		case errors.Is(err, ErrNewer):
			return nil, err
		case err != nil:
			damage = err
		case found == nil || head.number > found.number:
			f := head.fields
			found = &Manifest{identity: uint64(f[0]), number: head.number, claims: claims{uint64(f[1]), uint64(f[2]), uint64(f[3]), uint64(f[4])}}
		}
	}
	if found == nil {
		return nil, damage
	}
	return found, nil
}

// newManifest returns a manifest with a new identity.
func newManifest(c claims) *Manifest {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	return &Manifest{identity: binary.LittleEndian.Uint64(random[:]) | 1, claims: c}
}

// create writes the file of a manifest, durably.
func (m *Manifest) create(dir FS) error {
	file, err := dir.Create(ManifestFile + tempSuffix)
	if err != nil {
		return err
	}
	m.file, m.number = file, m.number+2
	for range 2 {
		err = errors.Join(err, m.update(func(*claims) {}))
	}
	if err = errors.Join(err, file.Sync()); err == nil {
		if err = dir.Rename(ManifestFile+tempSuffix, ManifestFile); err == nil {
			err = dir.SyncDir()
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", ManifestFile, err), file.Close(), dir.Remove(ManifestFile+tempSuffix))
	}
	return nil
}

// update changes the claims. A crash of the machine may undo it.
func (m *Manifest) update(change func(*claims)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change(&m.claims); m.file == nil {
		return nil
	}
	m.number++
	c := m.claims
	writeHeader(m.head[:], manifestMagic, m.number, int64(m.identity), int64(c.first), int64(c.snapshot), int64(c.last), int64(c.bytes))
	_, err := m.file.WriteAt(m.head[:], int64(m.number%2)*manifestSlot)
	return err
}

// keep is update, durably.
func (m *Manifest) keep(change func(*claims)) error {
	return errors.Join(m.update(change), m.sync())
}

// sync makes the last update durable.
func (m *Manifest) sync() error {
	if m.file == nil {
		return nil
	}
	return m.file.Sync()
}

// isDurable notes that a part of a journal, or of a log, is durable.
func (m *Manifest) isDurable(number uint64, bytes int64) error {
	if m == nil {
		return nil
	}
	return m.update(func(c *claims) {
		if number+1 > c.last || number+1 == c.last && uint64(bytes) > c.bytes {
			c.last, c.bytes = number+1, uint64(bytes)
		}
	})
}

// newestSnapshot is the number of the newest complete snapshot, and 1; 0 for none.
func (m *Manifest) newestSnapshot() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claims.snapshot
}

// Close ends the use of a manifest; its claims are durable.
func (m *Manifest) Close() error {
	if m.file == nil {
		return nil
	}
	return errors.Join(m.file.Sync(), m.file.Close())
}

// OpenManifest opens the manifest of a directory whose other files have an identity. If they have none yet, which is 0, and there is no manifest, it begins one.
func OpenManifest(dir FS, identity uint64) (*Manifest, error) {
	m, err := ReadManifest(dir)
	switch {
	case errors.Is(err, errAbsent) && identity == 0:
		m = newManifest(claims{})
		return m, m.create(dir)
	case errors.Is(err, errAbsent):
		return nil, isMissing(ManifestFile, "the other files have the identity that it gives")
	case err != nil:
		return nil, err
	case identity != 0 && m.identity != identity:
		return nil, m.Check(identity)
	}
	m.file, err = dir.Edit(ManifestFile)
	return m, err
}

// Check refuses a manifest that is not of the directory with an identity.
func (m *Manifest) Check(identity uint64) error {
	if m.identity != identity {
		return absent(ManifestFile, errForeign)
	}
	return nil
}

// Identity is the identity of the directory.
func (m *Manifest) Identity() uint64 { return m.identity }

// Raise notes how far two counts have come that never become smaller. A crash of the machine may undo it.
func (m *Manifest) Raise(first, second uint64) error {
	return m.update(func(c *claims) { c.first, c.last = max(c.first, first), max(c.last, second) })
}

// Raised returns how far the counts of Raise had come at least.
func (m *Manifest) Raised() (first, second uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claims.first, m.claims.last
}

// Position returns how far the newest file had come at least, as a number that only grows.
func (m *Manifest) Position() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claims.last<<32 | m.claims.bytes // a journal is not that large, nor a part of a log
}
