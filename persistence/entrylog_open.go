package persistence

import (
	"errors"
	"strings"
)

// OpenEntryLog opens the log in a directory, which the caller has locked, or begins a new one if there is none and
// create is set. It returns a [DamageError] if durable data is missing.
func OpenEntryLog(dir FS, create bool) (*EntryLog, error) {
	return openEntryLog(dir, create, segmentBytes, func(uint64, []byte) {})
}

// openEntryLog is OpenEntryLog with segments of a size. It calls visit for every entry as it is read, with bytes that are only valid during the call.
func openEntryLog(dir FS, create bool, segmentBytes int64, visit func(index uint64, entry []byte)) (*EntryLog, error) {
	l := &EntryLog{fs: dir, segmentBytes: segmentBytes}
	names, err := dir.List()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, recycledSuffix) {
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
	last, err := l.read(numbers(names, logPrefix), visit)
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

// InspectEntryLog reads the log in a directory, which may be in use, and changes nothing. It returns the indexes of the
// first and the last entry, 0 if there is none, and the number of files, and a [DamageError] if data is missing. It
// calls visit for every entry; an error of visit ends it.
func InspectEntryLog(dir FS, visit func(LogEntry) error) (first, last uint64, files int, err error) {
	names, err := dir.List()
	if err != nil {
		return 0, 0, 0, err
	}
	l, found := &EntryLog{fs: readOnly{dir}}, numbers(names, logPrefix)
	_, err = l.read(found, func(uint64, []byte) {})
	first, last = l.Range()
	for i := first; err == nil && i > 0 && i <= last; i++ {
		if data, gone := l.Get(i); gone == nil { // it was whole; its file has been reused since
			err = visit(LogEntry{i, data})
		}
	}
	return first, last, len(found), errors.Join(err, l.Close())
}

// InspectLogFile is [InspectEntryLog] for one file of a log. It does not check the file's end against the next file.
func InspectLogFile(dir FS, name string) (first, last uint64, err error) {
	number, _ := numberOf(name)
	l := &EntryLog{fs: readOnly{dir}}
	if err = l.openSegments([]uint64{number}); err == nil {
		_, err = l.readSegments(func(uint64, []byte) {})
	}
	first, last = l.Range()
	return first, last, errors.Join(err, l.Close())
}

// IsLogFile reports whether a name is that of a file of a log.
func IsLogFile(name string) bool { return len(numbers([]string{name}, logPrefix)) == 1 }

// read reads the segments of some numbers, which must be all, and returns the contents of the last file.
func (l *EntryLog) read(numbers []uint64, visit func(index uint64, entry []byte)) (last []byte, err error) {
	found, err := ReadManifest(l.fs)
	if err != nil && !errors.Is(err, errAbsent) {
		return nil, err
	}
	if len(numbers) == 0 {
		if found != nil && found.claims.last > 0 {
			return nil, isMissing(fileName(logPrefix, found.claims.last-1), "entries in it were on disk")
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
	if s := l.segments[len(l.segments)-1]; found != nil && s.number+1 == found.claims.last && s.end < int64(found.claims.bytes) {
		return nil, &DamageError{s.name, s.end, errShorter}
	}
	return last, nil
}

// openSegments opens the segments of some numbers.
func (l *EntryLog) openSegments(numbers []uint64) error {
	for i, number := range numbers {
		s, err := openSegment(l.fs, number)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
		if i > 0 && number != numbers[i-1]+1 {
			return isMissing(fileName(logPrefix, number-1), s.name+" goes on from it")
		}
	}
	return nil
}

// readSegments reads the open segments.
func (l *EntryLog) readSegments(visit func(index uint64, entry []byte)) (last []byte, err error) {
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
func (l *EntryLog) checkManifest(found *Manifest) error {
	for _, s := range l.segments {
		switch {
		case found == nil && s.in != 0:
			return isMissing(ManifestFile, s.name+" has the identity that it gives")
		case found != nil && s.in != found.identity && s.number >= found.claims.first:
			return absent(s.name, errForeign)
		}
	}
	if last := l.segments[len(l.segments)-1]; found != nil && found.claims.last > last.number+1 {
		return isMissing(fileName(logPrefix, found.claims.last-1), "entries in it were on disk")
	}
	return nil
}

// openManifest opens the manifest of a log that has been read, or begins one.
func (l *EntryLog) openManifest() error {
	c := claims{}
	if n := len(l.segments); n > 0 {
		last := l.segments[n-1]
		c = claims{first: last.number + 1, last: last.number + 1, bytes: uint64(last.end)}
	}
	m, err := ReadManifest(l.fs)
	switch {
	case errors.Is(err, errAbsent):
		m = newManifest(c)
		err = m.create(l.fs)
	case err == nil:
		c.first = m.claims.first
		if m.file, err = l.fs.Edit(ManifestFile); err == nil {
			err = m.update(func(kept *claims) { *kept = c })
		}
	}
	l.manifest = m
	return err
}
