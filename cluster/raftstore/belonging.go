package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stintdb/stint/persistence/disk"
)

// The votes tie the files of a directory together: they have the incarnation that [IdentityFile] names, and the
// identities of the directory's manifest and of the log's manifest. Snapshots and the clock repeat the incarnation. The
// manifest notes how far the votes and the log had come, so that older copies are noticed.

// logKey is the key, beside the votes, of the identity of the log.
var logKey = []byte("stint/log")

// openManifest opens the manifest of a directory whose votes have been read, and refuses votes that are older than it.
func (d *Dir) openManifest(found records) error {
	if d.incarnation == "" {
		return nil
	}
	var err error
	if d.manifest, err = disk.OpenManifest(disk.Dir(d.dir), identityOf(found[string(directoryKey)].value)); err != nil {
		return fmt.Errorf("%s: %w; %w", d.dir, err, ErrLostState)
	}
	if err := checkVotes(d.manifest, found); err != nil {
		return fmt.Errorf("%s: %w; %w", d.dir, err, ErrLostState)
	}
	return nil
}

// checkVotes refuses votes that are older than a manifest says.
func checkVotes(m *disk.Manifest, found records) error {
	if least, _ := m.Raised(); found.last() < least {
		return fmt.Errorf("%s and %s are older copies: their last write is number %d, and number %d was on disk",
			votesFiles[0], votesFiles[1], found.last(), least)
	}
	return nil
}

func (d *Dir) closeManifest() error {
	if d.manifest == nil {
		return nil
	}
	return d.manifest.Close()
}

// bind writes into the votes the identities of the files that belong to them, once the node has an incarnation.
func (d *Dir) bind(incarnation string) (err error) {
	d.incarnation, d.snapshots.incarnation = incarnation, incarnation
	if d.manifest == nil {
		if d.manifest, err = disk.OpenManifest(disk.Dir(d.dir), 0); err != nil {
			return err
		}
	}
	d.votes.noted = d.note
	d.note(0)
	return errors.Join(d.votes.SetUint64(directoryKey, d.manifest.Identity()), d.votes.SetUint64(logKey, d.log.Identity()),
		d.votes.Set(incarnationKey, []byte(incarnation)))
}

// note notes in the manifest how far the votes and the log have come.
func (d *Dir) note(votes uint64) {
	if d.manifest == nil {
		return
	}
	if err := d.manifest.Raise(votes, d.log.Position()); err != nil {
		d.to.Warn("cannot record how far the log and the votes have come, so a later start with older copies may go unnoticed", "dir",
			d.dir, "error", err)
	}
}

// checkLog refuses a log of another directory, or a log that is older than the manifest says.
func (d *Dir) checkLog() error {
	path := filepath.Join(d.dir, LogDir)
	if known, err := d.votes.GetUint64(logKey); err == nil && known != d.log.Identity() {
		return fmt.Errorf("%s: the log is another directory's, by its identity; %w", path, ErrLostState)
	}
	if _, least := d.manifest.Raised(); d.log.Position() < least {
		return fmt.Errorf("%s: the log is older than %s says, or its end is missing; %w", path, filepath.Join(d.dir, disk.ManifestFile), ErrLostState)
	}
	return nil
}

// checkUnused refuses a directory whose identity is missing, although a node has been in it.
func (d *Dir) checkUnused(damage []error) error {
	has := ""
	for key := range d.votes.records {
		if key != string(groupKey) { // written before the identity
			has = votesFiles[0]
		}
	}
	if d.snapshots.newest != nil || len(damage) > 0 {
		has = snapshotsDir
	}
	for _, name := range []string{clockFile, disk.ManifestFile, groupsDir} {
		if _, err := os.Lstat(filepath.Join(d.dir, name)); err == nil {
			has = name
		}
	}
	if has == "" {
		return nil
	}
	return fmt.Errorf("%s is missing, although %s shows that a node has been in use; %w",
		filepath.Join(d.dir, IdentityFile), filepath.Join(d.dir, has), ErrLostState)
}

// homeKey is the key, beside the votes of a group, of the incarnation of the node whose directory it is in.
var homeKey = []byte("stint/home")

// checkHome refuses a group's directory that was in the directory of another node, or of an earlier node of the same
// name.
func (d *Dir) checkHome(node string) error {
	home, err := readIdentity(node)
	if err != nil { // the node's own reader reports it
		return nil
	}
	switch known, err := d.votes.Get(homeKey); {
	case err != nil:
		return d.votes.Set(homeKey, []byte(home.Incarnation))
	case string(known) != home.Incarnation:
		return fmt.Errorf("%s was in the directory of the incarnation %s, and this one is %s: put back the directory that was there. Otherwise %w", d.dir, known, home.Incarnation, ErrLostState)
	}
	return nil
}
