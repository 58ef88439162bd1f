package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/stintdb/stint/persistence"
)

// Disk is where a node keeps what it must not forget.
type Disk interface {
	Logs() raft.LogStore
	Stable() raft.StableStore
	Snapshots() raft.SnapshotStore
	// Identity returns the node's identity, made up at the first start in an empty place.
	Identity(node string) (raft.ServerID, error)
	// SaveClock keeps what the cluster's time was by this node's own clocks; it need not be durable at once.
	SaveClock(c savedClock) error
	LoadClock() (savedClock, error)
	Close() error
}

// savedClock is what the cluster's clock and this node's own showed at one moment.
type savedClock struct {
	Cluster int64         `json:"cluster_ns"` // since the Unix epoch, as is
	Wall    int64         `json:"wall_ns"`
	Boot    string        `json:"boot"` // of the machine, "" if not known
	Up      time.Duration `json:"up_ns"`
}

// passed is how long ago c was saved, by the time since boot if the machine is still up, or else by the wall clock.
func (c savedClock) passed(now savedClock) time.Duration {
	if c.Boot != "" && c.Boot == now.Boot {
		return max(0, now.Up-c.Up)
	}
	return time.Duration(max(0, now.Wall-c.Wall))
}

// The files of a node's directory.
const (
	identityFile = "node.json"
	votesFile    = "raft.db"
	logDir       = "log"
	clockFile    = "clock.json"
)

// identity is what node.json holds. The incarnation tells a node that has lost its disk from the one it was before, whose
// votes it must not cast again.
type identity struct {
	Node        string `json:"node"`
	Incarnation string `json:"incarnation"`
}

// dirDisk is a Disk in a directory.
type dirDisk struct {
	dir       string
	log       *persistence.EntryLog
	votes     *raftboltdb.BoltStore
	snapshots *raft.FileSnapshotStore
}

// snapshotsKept is how many snapshots stay on disk.
const snapshotsKept = 2

// OpenDir opens a node's directory, which the caller has locked.
func OpenDir(dir string, to *slog.Logger) (Disk, error) {
	if err := refuseStandalone(dir); err != nil {
		return nil, err
	}
	if err := checkVotes(dir); err != nil {
		return nil, err
	}
	entries, err := openLog(dir)
	if err != nil {
		return nil, err
	}
	votes, err := openVotes(filepath.Join(dir, votesFile))
	if err != nil {
		return nil, errors.Join(err, entries.Close())
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, newRaftLogger(to))
	if err != nil {
		return nil, errors.Join(err, entries.Close(), votes.Close())
	}
	return &dirDisk{dir, entries, votes, snapshots}, nil
}

// openLog opens the log in a node's directory, or begins one if the node is new.
func openLog(dir string) (*persistence.EntryLog, error) {
	path := filepath.Join(dir, logDir)
	isUsed, err := isUsed(dir)
	if err != nil {
		return nil, err
	}
	if !isUsed {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		if err := persistence.Dir(dir).SyncDir(); err != nil {
			return nil, err
		}
	}
	log, err := persistence.OpenEntryLog(persistence.Dir(path), !isUsed)
	_, isDamaged := errors.AsType[*persistence.DamageError](err)
	switch {
	case errors.Is(err, persistence.ErrNewer):
		return nil, fmt.Errorf("%s: %w", path, err)
	case isUsed && (errors.Is(err, persistence.ErrNoLog) || errors.Is(err, fs.ErrNotExist)):
		return nil, fmt.Errorf("%s is missing or empty, although %s shows that the node has been in use; %w", path, identityFile, errTorn)
	case isDamaged:
		return nil, fmt.Errorf("%s: %w; %w", path, err, errTorn)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, last := log.Range(); last > 0 && !isUsed {
		return nil, errors.Join(fmt.Errorf("%s is missing, although %s holds a log; %w", filepath.Join(dir, identityFile), path, errTorn), log.Close())
	}
	return log, nil
}

// openVotes opens what keeps terms and votes. Freelists written with every transaction have brought clusters down; found anew
// at the start they cost little.
func openVotes(path string) (*raftboltdb.BoltStore, error) {
	votes, err := raftboltdb.New(raftboltdb.Options{
		Path: path, BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, NoGrowSync: false},
	})
	switch {
	case errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrChecksum), errors.Is(err, bbolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%s is damaged (%w); %w", path, err, errTorn)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return votes, nil
}

// refuseStandalone refuses the directory of a server that stood alone: its state would be ignored.
func refuseStandalone(dir string) error {
	if isUsed, err := isUsed(dir); isUsed || err != nil {
		return err
	}
	files, others, err := persistence.Files(persistence.Dir(dir))
	if err != nil {
		return err
	}
	if files = append(files, others...); len(files) > 0 {
		return fmt.Errorf("%s holds the state of a server that stood alone (%s); start the node with an empty --dir, and carry that state over as docs/cluster.md says", dir, files[0])
	}
	return nil
}

// isUsed reports whether a directory is that of a node that has been started before.
func isUsed(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d *dirDisk) Logs() raft.LogStore           { return logStore{d.log} }
func (d *dirDisk) Stable() raft.StableStore      { return d.votes }
func (d *dirDisk) Snapshots() raft.SnapshotStore { return d.snapshots }
func (d *dirDisk) Close() error                  { return errors.Join(d.log.Close(), d.votes.Close()) }

func (d *dirDisk) Identity(node string) (raft.ServerID, error) {
	path := filepath.Join(d.dir, identityFile)
	var known identity
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		known = identity{node, strings.ToLower(rand.Text()[:8])}
		if text, err = json.Marshal(known); err == nil {
			err = writeDurably(d.dir, identityFile, text, true)
		}
		if err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		if err := json.Unmarshal(text, &known); err != nil || known.Node == "" || known.Incarnation == "" {
			return "", fmt.Errorf("%s does not say which node this is; if it was damaged, start with an empty --dir, and the node joins as a new one", path)
		}
	}
	if known.Node != node {
		return "", fmt.Errorf("%s belongs to the node '%s', and --node-id says '%s': give the node its own name, or another --dir", d.dir, known.Node, node)
	}
	return serverID(known.Node, known.Incarnation), nil
}

func (d *dirDisk) SaveClock(c savedClock) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeDurably(d.dir, clockFile, text, false)
}

func (d *dirDisk) LoadClock() (c savedClock, err error) {
	text, err := os.ReadFile(filepath.Join(d.dir, clockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// writeDurably replaces a file as a whole, and if sync is set durably so.
func writeDurably(dir, name string, text []byte, sync bool) error {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil || !sync {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// serverID is what Raft knows a node by: its name and its incarnation.
func serverID(node, incarnation string) raft.ServerID {
	return raft.ServerID(node + "#" + incarnation)
}

// nodeName is the name in a server id.
func nodeName(id raft.ServerID) string {
	name, _, _ := strings.Cut(string(id), "#")
	return name
}
