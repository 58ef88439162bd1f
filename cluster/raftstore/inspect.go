package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stintdb/stint/persistence/disk"
)

// Finding describes one file of a node's directory.
type Finding struct {
	File    string // within the directory
	Text    string
	Damaged bool
}

// ReadValue reads the value of a key in the stable store of a directory; nil if there is none. It changes nothing.
func ReadValue(dir string, key []byte) ([]byte, error) {
	found, err := readVotes(dir, "")
	return found.records[string(key)].value, err
}

// Inspect reads all files that a node reads at its start, except the log, for which there is
// [entrylog.Inspect]. It changes nothing, and the directory may be in use: files that are removed during the
// inspection are skipped. The error wraps fs.ErrNotExist if the directory is not a node's. describe reads the state in
// a snapshot.
func Inspect(dir string, describe func(state io.Reader) (string, error)) (found []Finding, err error) {
	if _, err := os.Stat(filepath.Join(dir, IdentityFile)); err != nil {
		return nil, err
	}
	add := func(file, text string, err error) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			found = append(found, Finding{file, err.Error(), true})
		default:
			found = append(found, Finding{file, text, false})
		}
	}
	known, _ := readIdentity(dir)
	text, err := inspectIdentity(dir)
	add(IdentityFile, text, err)
	found = append(found, inspectVotes(dir, known.Incarnation)...)
	found = append(found, inspectManifest(dir, known.Incarnation)...)
	text, err = inspectClock(dir, known.Incarnation)
	add(clockFile, text, err)
	names, temporary, err := listSnapshots(filepath.Join(dir, snapshotsDir))
	if err != nil {
		add(snapshotsDir, "", err)
	}
	for _, name := range temporary {
		add(filepath.Join(snapshotsDir, name),
			"not read by a server: a snapshot that is not complete; the next start removes it", nil)
	}
	for _, name := range names {
		text, err := inspectSnapshot(filepath.Join(dir, snapshotsDir, name), known.Incarnation, describe)
		add(filepath.Join(snapshotsDir, name), text, err)
	}
	return found, nil
}

func inspectIdentity(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, IdentityFile))
	if err != nil {
		return "", err
	}
	var known identity
	if err := unseal(text, &known); err != nil {
		return "", err
	}
	return fmt.Sprintf("the directory of the node %s of a cluster (incarnation %s)", known.Node, known.Incarnation), nil
}

func inspectVotes(dir, incarnation string) (found []Finding) {
	v, err := readVotes(dir, incarnation)
	for i, name := range votesFiles {
		switch {
		case err != nil && v.damage[i] != nil:
			found = append(found, Finding{name, v.damage[i].Error(), true})
		case err != nil: // a newer version
			found = append(found, Finding{name, err.Error(), true})
		case v.copies[i] == nil:
			found = append(found,
				Finding{name, "a copy of the votes that is damaged, or is being written: a start makes it anew", false})
		default:
			found = append(found, Finding{name, describeVotes(v.copies[i]), false})
		}
	}
	return found
}

// inspectManifest compares the manifest with the votes. In a directory of an earlier version a missing manifest is no
// damage.
func inspectManifest(dir, incarnation string) (found []Finding) {
	m, err := disk.ReadManifest(disk.Dir(dir)) // before the votes, which may grow
	v, votesErr := readVotes(dir, incarnation)
	identity := identityOf(v.records[string(directoryKey)].value)
	if votesErr != nil || identity == 0 {
		return nil
	}
	if err == nil {
		err = errors.Join(m.Check(identity), checkVotes(m, v.records), checkLogOf(dir, m, v.records))
	}
	if err != nil {
		return []Finding{{disk.ManifestFile, err.Error(), true}}
	}
	return nil
}

// checkLogOf compares the log's own manifest with the votes and the manifest of a directory, which for a group is the
// node's.
func checkLogOf(dir string, m *disk.Manifest, found records) error {
	for _, path := range []string{filepath.Join(dir, LogDir), filepath.Join(filepath.Dir(dir), LogDir)} {
		has, err := disk.ReadManifest(disk.Dir(path))
		if errors.Is(err, fs.ErrNotExist) || has == nil {
			continue // the reader of the log reports what is missing in it
		}
		if has.Identity() != identityOf(found[string(logKey)].value) {
			return fmt.Errorf("%s: the log is another directory's, by its identity", path)
		}
		if _, least := m.Raised(); has.Position() < least {
			return fmt.Errorf("%s: the log is older than this says, or its end is missing", path)
		}
		return nil
	}
	return nil
}

func describeVotes(values records) string {
	number := func(key []byte) uint64 {
		if len(values[string(key)].value) != 8 {
			return 0
		}
		return binary.BigEndian.Uint64(values[string(key)].value)
	}
	text := fmt.Sprintf("its votes, in term %d", number(termKey))
	if vote := values[string(voteKey)].value; len(vote) > 0 {
		text += fmt.Sprintf(", the last for %s in term %d", vote, number(voteTermKey))
	}
	return text
}

func inspectClock(dir, incarnation string) (string, error) {
	c, err := (&Dir{dir: dir, incarnation: incarnation}).LoadClock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w; a start goes on from the last entry of the log", err)
	}
	if c == (SavedClock{}) {
		return "", fs.ErrNotExist
	}
	return "the cluster's time when it was kept last, " + time.Unix(0, c.Cluster).UTC().Format(time.RFC3339), nil
}

func inspectSnapshot(path, incarnation string, describe func(state io.Reader) (string, error)) (string, error) {
	meta, state, err := openSnapshotFile(path, incarnation)
	if err != nil {
		return "", err
	}
	defer state.Close()
	text, err := describe(state)
	return fmt.Sprintf("a snapshot up to entry %d of the log, of term %d, %s", meta.Index, meta.Term, text), err
}
