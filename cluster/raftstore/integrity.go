package raftstore

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// ErrLostState is the advice for a log, snapshots or votes that have lost data. A node must not continue without it:
// the lost part may contain its vote or acknowledged decisions.
var ErrLostState = errors.New("the node cannot continue with incomplete state: while a majority of the other nodes runs, move the directory away and start with an empty --dir, and the node joins as a new one with the state of the others")

// snapshotKey is the key, beside the votes, of the newest snapshot's index: without it the loss of all snapshots
// together with the log after them would go unnoticed.
var snapshotKey = []byte("stint/snapshot")

// checkIntegrity refuses a directory whose parts are intact but do not fit together: a snapshot is missing between the
// older one and the log, or the term is lower than the log's. damage lists the errors of unusable snapshots.
func (d *Dir) checkIntegrity(damage []error) error {
	if err := d.checkLog(); err != nil {
		return err
	}
	start, atLeast := uint64(0), uint64(0)
	if s := d.snapshots.newest; s != nil {
		start = s.Index
	}
	if kept, err := d.votes.GetUint64(snapshotKey); err == nil {
		atLeast = kept
	}
	first, err := d.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := d.log.LastIndex()
	if err != nil {
		return err
	}
	isGap := last > start && first > start+1 || max(start, last) < atLeast
	if err := errors.Join(damage...); isGap && err != nil {
		return fmt.Errorf("%w; the log, entries %d to %d, does not go on from any other; %w", err, first, last, ErrLostState)
	} else if isGap {
		return fmt.Errorf("%s: the snapshot before the log is missing: the newest ends at entry %d, and the log has %d to %d; %w", d.snapshots.dir, start, first, last, ErrLostState)
	}
	return d.checkTerm(last)
}

// checkTerm refuses votes that are older than the log: Raft saves a term before it writes an entry of it.
func (d *Dir) checkTerm(last uint64) error {
	term, err := d.votes.GetUint64(termKey)
	if err != nil && !errors.Is(err, errNoValue) {
		return fmt.Errorf("%s: %w; %w", filepath.Join(d.dir, votesFiles[0]), err, ErrLostState)
	}
	needs := uint64(0)
	if s := d.snapshots.newest; s != nil {
		needs = s.Term
	}
	if last > 0 {
		var entry raft.Log
		if err := d.Logs().GetLog(last, &entry); err != nil {
			return err
		}
		needs = max(needs, entry.Term)
	}
	if term < needs {
		return fmt.Errorf("%s is older than the log: it has the term %d, and the log has the term %d; %w",
			filepath.Join(d.dir, votesFiles[0]), term, needs, ErrLostState)
	}
	return nil
}
