package raftstore

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// An entry keeps all its fields, also after the log was reopened, and entries that Raft drops are gone.
func TestLogStore(t *testing.T) {
	for _, kind := range logKinds {
		t.Run(string(kind), func(t *testing.T) { useLog(t, kind) })
	}
}

func useLog(t *testing.T, kind LogKind) {
	dir := t.TempDir()
	open := func() nodeLog {
		log, err := openKind(dir, kind, true)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	s := open()
	entries := []*raft.Log{
		{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: []byte("who"), Extensions: []byte("more"),
			AppendedAt: time.Unix(5, 6)},
		{Index: 2, Term: 1, Type: raft.LogNoop, Data: []byte{}, Extensions: []byte{}},
		{Index: 3, Term: 1 << 60, Type: raft.LogCommand, Data: make([]byte, 100_000), Extensions: []byte{}},
		{Index: 4, Term: 1 << 60, Type: raft.LogCommand, Data: []byte{7}, Extensions: []byte{}},
	}
	if err := s.StoreLogs(entries); err != nil {
		t.Fatal(err)
	}
	check := func(first, last uint64) {
		t.Helper()
		if got, _ := s.FirstIndex(); got != first {
			t.Errorf("the first is %d, want %d", got, first)
		}
		if got, _ := s.LastIndex(); got != last {
			t.Errorf("the last is %d, want %d", got, last)
		}
		for i := uint64(1); i <= uint64(len(entries)); i++ {
			var got raft.Log
			err := s.GetLog(i, &got)
			switch is := i >= first && i <= last; {
			case !is && !errors.Is(err, raft.ErrLogNotFound):
				t.Errorf("entry %d: %v", i, err)
			case is && (err != nil || !reflect.DeepEqual(&got, entries[i-1])):
				t.Errorf("entry %d is %+v, %v", i, got, err)
			}
		}
	}
	drop := func(from, to uint64) {
		t.Helper()
		if err := s.DeleteRange(from, to); err != nil {
			t.Error(err)
		}
	}
	check(1, 4)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	check(1, 4)
	if s.DeleteRange(2, 3) == nil {
		t.Error("entries are dropped out of the middle")
	}
	drop(10, 12)
	drop(1, 1)
	check(2, 4)
	drop(4, 4)
	check(2, 3)
	if err := s.StoreLog(entries[3]); err != nil {
		t.Fatal(err)
	}
	check(2, 4)
	drop(2, 4)
	check(0, 0)
	entries[3].Index = 4
	if err := s.StoreLogs(entries); err != nil {
		t.Fatal(err)
	}
	if err := s.StoreLog(entries[1]); err != nil { // in place of the old entry and those after it
		t.Fatal(err)
	}
	check(1, 2)
	entries[3].Index = 9 // as after a snapshot from another node
	if err := s.StoreLog(entries[3]); err != nil {
		t.Fatal(err)
	}
	if first, _ := s.FirstIndex(); first != 9 {
		t.Errorf("behind a gap the first is %d", first)
	}
}

// The id of a snapshot tells when it was begun.
func TestSnapshotTime(t *testing.T) {
	for id, want := range map[string]time.Time{"3-8-1767225600500": time.UnixMilli(1767225600500), "": {}, "3-8": {},
		"3-8-x": {}} {
		if at := SnapshotTime(id); !at.Equal(want) {
			t.Errorf("%q: %v, not %v", id, at, want)
		}
	}
}
