package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence"
)

// oldVotesFile is where versions before votesFile kept terms and votes: in bbolt's format, which has no checksum over them.
// It is read once.
const oldVotesFile = "raft.db"

// The keys of Raft's values.
var (
	termKey     = []byte("CurrentTerm")
	voteTermKey = []byte("LastVoteTerm")
	voteKey     = []byte("LastVoteCand")
)

// ClusterIDKey is the key of the cluster's id. A node must know it before its log has been replayed, or it might join another
// cluster.
var ClusterIDKey = []byte("stint/cluster")

// FormatsKey is the key of the cluster's format version. A node must know it before its log has been replayed, or it would
// refuse newer operations after its start.
var FormatsKey = []byte("stint/formats")

// convertVotes takes over the votes that an older version kept.
func convertVotes(dir string) (*votes, error) {
	values, err := readOldVotes(filepath.Join(dir, oldVotesFile))
	if err != nil {
		return nil, err
	}
	return createVotes(persistence.Dir(dir), values)
}

// removeOldVotes removes the file of an older version, whose votes have been taken over.
func removeOldVotes(dir string) error {
	err := os.Remove(filepath.Join(dir, oldVotesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, atomicfile.SyncDir(dir))
}

// readOldVotes reads a file of bbolt's. Its library panics, or reads where no file is, when it meets damage: either becomes
// an error.
func readOldVotes(path string) (values map[string][]byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, fmt.Errorf("%w: %s is empty", errDamaged, oldVotesFile)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s: %v", errDamaged, oldVotesFile, p)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errDamaged, oldVotesFile, err)
	}
	values = map[string][]byte{}
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte("conf"))
		if bucket == nil {
			return errors.New("there are no votes in it")
		}
		return bucket.ForEach(func(key, value []byte) error {
			values[string(key)] = bytes.Clone(value)
			return nil
		})
	})
	if err == nil {
		err = checkOldVotes(values)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errDamaged, oldVotesFile, err)
	}
	return values, nil
}

// checkOldVotes refuses values that no older version wrote.
func checkOldVotes(values map[string][]byte) error {
	number := func(key []byte) uint64 {
		if len(values[string(key)]) != 8 {
			return 0
		}
		return binary.BigEndian.Uint64(values[string(key)])
	}
	for key, value := range values {
		switch isNumber := key == string(termKey) || key == string(voteTermKey); {
		case isNumber && len(value) != 8, !isNumber && key != string(voteKey) && key != string(ClusterIDKey):
			return fmt.Errorf("the value of '%s' is none that Raft keeps", key)
		}
	}
	if number(voteTermKey) > number(termKey) || number(termKey) > maxTerm {
		return fmt.Errorf("term %d, with a vote in term %d", number(termKey), number(voteTermKey))
	}
	if values[string(voteKey)] != nil && values[string(voteTermKey)] == nil {
		return errors.New("a vote without its term")
	}
	return nil
}

// maxTerm is more elections than there can have been.
const maxTerm = 1 << 32
