package entrylog

import (
	"errors"
	"strings"

	"github.com/stintdb/stint/persistence/disk"
)

// Open opens the log in a directory, which the caller has locked, or begins a new one if there is none and
// create is set. It returns a [disk.DamageError] if durable data is missing.
func Open(dir disk.FS, create bool) (*Log, error) {
	return open(dir, create, segmentBytes, func(uint64, []byte) {})
}

// open is Open with segments of a size. It calls visit for every entry as it is read, with bytes that are only valid
// during the call.
func open(dir disk.FS, create bool, segmentBytes int64, visit func(index uint64, entry []byte)) (*Log, error) {
	l := &Log{fs: dir, segmentBytes: segmentBytes}
	names, err := dir.List()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, disk.RecycledSuffix) {
			if err := dir.Remove(name); err != nil {
				return nil, err
			}
		}
	}
	// An earlier process may have ended before a name was durable. The name must not be lost after entries are written
	// to its file.
	if err := dir.SyncDir(); err != nil {
		return nil, err
	}
	last, err := l.read(disk.Numbers(names, disk.LogPrefix), visit)
	if err == nil || errors.Is(err, ErrNoLog) && create {
		if manifestErr := l.openManifest(); manifestErr != nil {
			err = manifestErr
		}
	}
	switch {
	case errors.Is(err, ErrNoLog) && create:
		err = l.begin(segmentBytes)
	case err == nil:
		l.current = l.segments[len(l.segments)-1]
		l.current.closed = false
		err = l.current.syncTail(last)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Inspect reads the log in a directory, which may be in use, and changes nothing. It returns the indexes of the first
// and the last entry, 0 if there is none, and the number of files, and a [disk.DamageError] if data is missing. It
// calls visit for every entry; an error of visit ends it.
func Inspect(dir disk.FS, visit func(Entry) error) (first, last uint64, files int, err error) {
	names, err := dir.List()
	if err != nil {
		return 0, 0, 0, err
	}
	l, found := &Log{fs: disk.ReadOnly{FS: dir}}, disk.Numbers(names, disk.LogPrefix)
	_, err = l.read(found, func(uint64, []byte) {})
	first, last = l.Range()
	for i := first; err == nil && i > 0 && i <= last; i++ {
		if data, gone := l.Get(i); gone == nil { // it was whole; its file has been reused since
			err = visit(Entry{i, data})
		}
	}
	return first, last, len(found), errors.Join(err, l.Close())
}

// InspectFile is [Inspect] for one file of a log. It does not check the file's end against the next file.
func InspectFile(dir disk.FS, name string) (first, last uint64, err error) {
	number, _ := disk.NumberOf(name)
	l := &Log{fs: disk.ReadOnly{FS: dir}}
	if err = l.openSegments([]uint64{number}); err == nil {
		_, err = l.readSegments(func(uint64, []byte) {})
	}
	first, last = l.Range()
	return first, last, errors.Join(err, l.Close())
}

// IsFile reports whether a file with this name belongs to a log.
func IsFile(name string) bool { return len(disk.Numbers([]string{name}, disk.LogPrefix)) == 1 }

// read reads the segments of some numbers, which must be all, and returns the contents of the last file.
func (l *Log) read(numbers []uint64, visit func(index uint64, entry []byte)) (last []byte, err error) {
	found, err := disk.ReadManifest(l.fs)
	if err != nil && !errors.Is(err, disk.ErrAbsent) {
		return nil, err
	}
	if len(numbers) == 0 {
		if found != nil && found.Claims().Last > 0 {
			return nil, disk.IsMissing(disk.FileName(disk.LogPrefix, found.Claims().Last-1), "entries in it were on disk")
		}
		return nil, ErrNoLog
	}
	if err := l.openSegments(numbers); err != nil {
		return nil, err
	}
	if err := l.checkManifest(found); err != nil {
		return nil, err
	}
	if last, err = l.readSegments(visit); err != nil {
		return nil, err
	}
	if s := l.segments[len(l.segments)-1]; found != nil && s.number+1 == found.Claims().Last && s.end < int64(found.Claims().Bytes) {
		return nil, &disk.DamageError{Name: s.name, Offset: s.end, Err: disk.ErrShorter}
	}
	return last, nil
}

// openSegments opens the segments of some numbers.
func (l *Log) openSegments(numbers []uint64) error {
	for i, number := range numbers {
		s, err := openSegment(l.fs, number)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
		if i > 0 && number != numbers[i-1]+1 {
			return disk.IsMissing(disk.FileName(disk.LogPrefix, number-1), s.name+" goes on from it")
		}
	}
	return nil
}

// readSegments reads the open segments.
func (l *Log) readSegments(visit func(index uint64, entry []byte)) (last []byte, err error) {
	for i, s := range l.segments {
		ended := int64(0)
		if i < len(l.segments)-1 {
			ended = l.segments[i+1].before
		}
		last, err = s.read(ended, func(offset int64, index uint64, entry []byte) {
			l.put(index, place{s, offset})
			visit(index, entry)
		})
		if err != nil {
			return nil, err
		}
	}
	return last, nil
}

// checkManifest compares the files with a manifest, nil if there is none.
func (l *Log) checkManifest(found *disk.Manifest) error {
	for _, s := range l.segments {
		switch {
		case found == nil && s.in != 0:
			return disk.IsMissing(disk.ManifestFile, s.name+" has the identity that it gives")
		case found != nil && s.in != found.Identity() && s.number >= found.Claims().First:
			return disk.Absent(s.name, disk.ErrForeign)
		}
	}
	if last := l.segments[len(l.segments)-1]; found != nil && found.Claims().Last > last.number+1 {
		return disk.IsMissing(disk.FileName(disk.LogPrefix, found.Claims().Last-1), "entries in it were on disk")
	}
	return nil
}

// openManifest opens the manifest of a log that has been read, or begins one.
func (l *Log) openManifest() error {
	c := disk.Claims{}
	if n := len(l.segments); n > 0 {
		last := l.segments[n-1]
		c = disk.Claims{First: last.number + 1, Last: last.number + 1, Bytes: uint64(last.end)}
	}
	m, err := disk.ReadManifest(l.fs)
	switch {
	case errors.Is(err, disk.ErrAbsent):
		m = disk.NewManifest(c)
		err = m.Create(l.fs)
	case err == nil:
		c.First = m.Claims().First
		if err = m.Reopen(l.fs); err == nil {
			err = m.Update(func(kept *disk.Claims) { *kept = c })
		}
	}
	l.manifest = m
	return err
}
