// Package raftstore is a node's directory: Raft's log, votes and snapshots, the node's identity and its clock, all
// under checksums. [Open] checks every file, and that the files fit together.
package raftstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
)

// SavedClock is a reading of the cluster's clock and this node's own clocks, taken at one moment.
type SavedClock struct {
	Cluster int64         `json:"cluster_ns"` // since the Unix epoch, as is
	Wall    int64         `json:"wall_ns"`
	Boot    string        `json:"boot"` // the name of the machine's boot; "" if not known
	Up      time.Duration `json:"up_ns"`
}

// Passed returns how long ago c was saved: by the time since boot if the machine is still up, or else by the wall
// clock.
func (c SavedClock) Passed(now SavedClock) time.Duration {
	if c.Boot != "" && c.Boot == now.Boot {
		return max(0, now.Up-c.Up)
	}
	return time.Duration(max(0, now.Wall-c.Wall))
}

// The files of a node's directory.
const (
	IdentityFile = "node.json" // only the directory of a node has it
	LogDir       = "log"
	clockFile    = "clock.json"
)

// identity is the content of node.json. A node that has lost its disk gets a new incarnation: it must not cast the
// votes of the old one again.
type identity struct {
	Node        string `json:"node"`
	Incarnation string `json:"incarnation"`
}

// Dir is an open directory. Its methods may be called from any goroutine.
type Dir struct {
	dir         string
	to          *slog.Logger
	incarnation string         // "" before it has one
	hasState    bool           // it had a log or a snapshot when it was opened
	manifest    *disk.Manifest // nil before it has an incarnation
	log         nodeLog
	votes       *votes
	snapshots   *snapshotStore
}

// Open opens a node's directory, which the caller has locked, with a log of a kind. It checks all files, and logs
// repairs and harmless damage to to.
func Open(dir string, kind LogKind, to *slog.Logger) (*Dir, error) {
	return open(dir, to, func(isUsed bool) (nodeLog, error) { return openLog(dir, kind, isUsed) })
}

// open is Open, with a log opened by openLog, which is told whether the node has been started before.
func open(dir string, to *slog.Logger, openLog func(isUsed bool) (nodeLog, error)) (*Dir, error) {
	if err := refuseStandalone(dir); err != nil {
		return nil, err
	}
	if err := removeTemporary(dir); err != nil {
		return nil, err
	}
	known, err := readIdentity(dir)
	isUsed := !errors.Is(err, fs.ErrNotExist)
	if err != nil && isUsed {
		return nil, err
	}
	log, err := openLog(isUsed)
	if err != nil {
		return nil, err
	}
	d := &Dir{dir: dir, to: to, incarnation: known.Incarnation, log: log}
	var repaired error
	if d.votes, repaired, err = loadVotes(dir, d.incarnation, d.openManifest); err != nil {
		return nil, errors.Join(err, d.closeManifest(), log.Close())
	}
	if repaired != nil {
		to.Warn("one of the two copies of the votes was damaged and was restored from the other", "reason", repaired)
	}
	var damage []error
	if d.snapshots, damage, err = openSnapshots(dir, d.incarnation, to); err == nil {
		if isUsed {
			err = d.checkIntegrity(damage)
		} else {
			err = d.checkUnused(damage)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	last, err := log.LastIndex()
	d.hasState = err == nil && last > 0 || d.snapshots.newest != nil
	d.snapshots.kept = func(index uint64) {
		if err := d.votes.SetUint64(snapshotKey, index); err != nil {
			to.Warn("cannot record the index of the newest snapshot", "index", index, "error", err)
		}
	}
	return d, nil
}

// removeTemporary removes the temporary files of replacements that a crash interrupted.
func removeTemporary(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, "*"+atomicfile.TempSuffix))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// refuseStandalone refuses the directory of a server that stood alone: its state would be ignored.
func refuseStandalone(dir string) error {
	if HoldsNode(dir) != "" {
		return nil
	}
	name, err := persistence.HoldsState(disk.Dir(dir))
	if err != nil {
		return err
	}
	if name != "" {
		return fmt.Errorf("%s holds the state of a standalone server (%s); start the node with an empty --dir; to give a new cluster that state, start one node with --cluster-import %s", dir, name, dir)
	}
	return nil
}

// HoldsNode returns the name of a file of a node in a directory; "" if there is none.
func HoldsNode(dir string) string {
	for _, name := range []string{IdentityFile, votesFiles[0], votesFiles[1], clockFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// isUsed reports whether a directory belongs to a node that has been started before.
func isUsed(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, IdentityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Logs returns Raft's log.
func (d *Dir) Logs() raft.LogStore { return d.log }

// Stable returns the store of Raft's term and vote, and of small values that the node must never forget, such as
// [ClusterIDKey].
func (d *Dir) Stable() raft.StableStore { return d.votes }

// Snapshots returns the store of Raft's snapshots.
func (d *Dir) Snapshots() raft.SnapshotStore { return d.snapshots }

// Close closes all files.
func (d *Dir) Close() error {
	d.note(0)
	return errors.Join(d.log.Close(), d.votes.Close(), d.closeManifest())
}

// readIdentity reads the identity of a node that has been started before.
func readIdentity(dir string) (known identity, err error) {
	path := filepath.Join(dir, IdentityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return known, err
	}
	if err := unseal(text, &known); err != nil || known.Node == "" || known.Incarnation == "" {
		return known, fmt.Errorf("%s is damaged: it does not show which node this is; %w", path, ErrLostState)
	}
	return known, nil
}

// Incarnation returns the incarnation of the node with a name, which is generated at its first start in an empty
// directory. It refuses the directory of a node with another name.
func (d *Dir) Incarnation(node string) (string, error) {
	known, err := readIdentity(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		var text []byte
		known = identity{node, strings.ToLower(rand.Text()[:8])}
		if text, err = seal(known); err == nil {
			err = atomicfile.Write(filepath.Join(d.dir, IdentityFile), text)
		}
	}
	if err != nil {
		return "", err
	}
	if known.Node != node {
		return "",
			fmt.Errorf("%s belongs to the node '%s', and --node-id says '%s': give the node its own name, or another --dir",
				d.dir, known.Node, node)
	}
	return known.Incarnation, d.bind(known.Incarnation)
}

// SaveClock saves the cluster's time together with the node's own clocks.
func (d *Dir) SaveClock(c SavedClock) error {
	text, err := seal(clockContent{c, d.incarnation})
	if err != nil {
		return err
	}
	d.note(0)
	return atomicfile.Write(filepath.Join(d.dir, clockFile), text)
}

// clockContent is the content of clock.json.
type clockContent struct {
	SavedClock
	Incarnation string `json:"incarnation,omitempty"` // of the node; files of earlier versions lack it
}

// LoadClock returns the clocks saved last, or zeros. It is an error if a node with a log lacks them.
func (d *Dir) LoadClock() (c SavedClock, err error) {
	path := filepath.Join(d.dir, clockFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if d.hasState {
			return c, fmt.Errorf("%s is missing", path)
		}
		return c, nil
	}
	var found clockContent
	if err == nil {
		err = unseal(text, &found)
	}
	if err == nil && found.Incarnation != "" && d.incarnation != "" && found.Incarnation != d.incarnation {
		err = fmt.Errorf("it is of the incarnation %s, and %s names %s", found.Incarnation, IdentityFile, d.incarnation)
	}
	if err != nil {
		return SavedClock{}, fmt.Errorf("%s: %w", path, err)
	}
	return found.SavedClock, nil
}
