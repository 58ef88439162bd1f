package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/cluster/boltfile"
	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence/disk"
)

// foundVotes are the votes in a directory.
type foundVotes struct {
	records records
	copies  [2]records // the contents of each file, nil if it does not count
	damage  [2]error   // why it does not
}

// readVotes reads the votes of a node, which may be running, and changes nothing. A copy of another incarnation does
// not count, unless incarnation is "".
func readVotes(dir, incarnation string) (v foundVotes, err error) {
	v.records = records{}
	for i, name := range votesFiles {
		has, err := readRecords(filepath.Join(dir, name))
		switch {
		case errors.Is(err, disk.ErrNewer):
			return v, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			v.damage[i] = err
		case isForeign(has, incarnation):
			v.damage[i] = fmt.Errorf("%w: it is of the incarnation %s, and %s names %s", errDamaged,
				has[string(incarnationKey)].value, IdentityFile, incarnation)
		default:
			v.copies[i] = has
			v.records.add(has)
		}
	}
	if v.damage[0] != nil && v.damage[1] != nil {
		return v, fmt.Errorf("neither copy of the votes can be read: %s: %w; %s: %w", votesFiles[0], v.damage[0], votesFiles[1], v.damage[1])
	}
	return v, nil
}

// incarnationKey is the key, beside the votes, of the incarnation that [IdentityFile] names. Directories that no newer
// version than 0.2.0 has opened lack it.
var incarnationKey = []byte("stint/incarnation")

// isForeign reports whether votes belong to another incarnation.
func isForeign(has records, incarnation string) bool {
	r, is := has[string(incarnationKey)]
	return is && incarnation != "" && string(r.value) != incarnation
}

// makeCopy makes one of the files anew, durably. The old file, if there is one, stays until then.
func (v *votes) makeCopy(i int) error {
	path := filepath.Join(v.dir, votesFiles[i])
	temporary := path + atomicfile.TempSuffix
	made, err := boltfile.Create(temporary)
	if err != nil {
		return err
	}
	for key, r := range v.records {
		err = errors.Join(err, made.Set([]byte(key), r.seal(key)))
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err == nil {
		err = disk.Dir(v.dir).SyncDir()
	}
	if err != nil {
		return errors.Join(err, made.Close())
	}
	v.copies[i] = made
	return nil
}

// open opens both files, with the same votes in both. A file that does not count, or lacks the last write because of a
// crash, is made anew.
func (found foundVotes) open(dir string) (v *votes, err error) {
	v = &votes{dir: dir, number: found.records.last(), records: found.records, noted: func(uint64) {}}
	for i, name := range votesFiles {
		if has := found.copies[i]; has != nil && has.equal(found.records) {
			v.copies[i], err = boltfile.Open(filepath.Join(dir, name))
		} else {
			err = v.makeCopy(i)
		}
		if err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	return v, nil
}

// loadVotes opens the votes in a node's directory, or begins them if the node is new. Damage is that of a file which it made anew from the other.
// Check may refuse the values, before a file is changed.
func loadVotes(dir, incarnation string, check func(records) error) (v *votes, damage error, err error) {
	found, err := readVotes(dir, incarnation)
	if err == nil {
		if err := check(found.records); err != nil {
			return nil, nil, err
		}
		v, err = found.open(dir)
		for i, name := range votesFiles {
			if found.damage[i] != nil {
				damage = fmt.Errorf("%s: %w", name, found.damage[i])
			}
		}
		return v, damage, err
	}
	err = fmt.Errorf("%s: %w", dir, err)
	switch used, usedErr := isUsed(dir); {
	case usedErr != nil:
		return nil, nil, usedErr
	case !used: // a crash may have interrupted the making of the files, and nothing relies on them
		v, err = foundVotes{records: records{}}.open(dir)
		return v, nil, err
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged):
		err = fmt.Errorf("%w; %s shows that the node has been in use; %w", err, IdentityFile, ErrLostState)
	}
	return nil, nil, err
}
