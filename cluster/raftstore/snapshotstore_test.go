package raftstore

import (
	"log/slog"
	"testing"
)

// A node installs the leader's snapshot while it writes its own. Its own ends last, and is older: as leader the node
// would send other nodes a state from which its log does not go on.
func TestOlderSnapshotIsDropped(t *testing.T) {
	s, _, err := openSnapshots(t.TempDir(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var kept uint64
	s.kept = func(index uint64) { kept = index }
	own, err := s.Create(1, 5, 3, nodeConfiguration, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshotTo(t, s, 9)
	if err := own.Close(); err == nil {
		t.Error("an older snapshot is kept")
	}
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].Index != 9 || kept != 9 {
		t.Errorf("%+v, %v, kept %d", list, err, kept)
	}
}
