package raftstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// A snapshot of an older version is a directory with two files of the Raft library's: the state, and its meta data, which
// have no checksum but that of the state. It is read once.
const (
	oldMetaFile  = "meta.json"
	oldStateFile = "state.bin"
)

// openOldSnapshot opens a snapshot of an older version and checks what there is to check.
func openOldSnapshot(dir string) (meta snapshotMeta, state io.ReadCloser, err error) {
	text, err := os.ReadFile(filepath.Join(dir, oldMetaFile))
	if err != nil {
		return meta, nil, err
	}
	var old struct {
		raft.SnapshotMeta
		CRC []byte
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return meta, nil, fmt.Errorf("%s: %w: %w", oldMetaFile, errDamaged, err)
	}
	id := snapshotID{term: old.Term, index: old.Index}
	if named, ok := parseSnapshotID(filepath.Base(dir)); ok {
		id.number = named.number
	}
	if old.ID != filepath.Base(dir) || id.String() != old.ID || old.Version != raft.SnapshotVersionMax || old.ConfigurationIndex > old.Index {
		return meta, nil, fmt.Errorf("%s: %w: it is not of this snapshot", oldMetaFile, errDamaged)
	}
	file, err := os.Open(filepath.Join(dir, oldStateFile))
	if err != nil {
		return meta, nil, err
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	size, err := io.Copy(sum, file)
	if err == nil && (size != old.Size || !bytes.Equal(sum.Sum(nil), old.CRC)) {
		err = fmt.Errorf("%s: %w or cut short", oldStateFile, errDamaged)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return meta, nil, errors.Join(err, file.Close())
	}
	return snapshotMeta{ID: old.ID, Index: old.Index, Term: old.Term, Configuration: old.Configuration, ConfigurationIndex: old.ConfigurationIndex}, file, nil
}
