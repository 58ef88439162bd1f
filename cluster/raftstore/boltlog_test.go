package raftstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/boltfile"
)

func boltEntry(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 2, Type: raft.LogCommand, Data: bytes.Repeat([]byte{byte(0xE0 + index)}, 40),
		Extensions: []byte("more"), AppendedAt: time.Unix(9, 8)}
}

// boltLogOf returns the file of a log with three entries.
func boltLogOf(t *testing.T) (dir string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	l, err := openBoltLog(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		if err := l.StoreLog(boltEntry(i + 5)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, boltLogFile)); err != nil {
		t.Fatal(err)
	}
	return dir, data
}

// Whatever byte of an entry changes, the log is not opened, or the entry is read as it was, because msgpack has several
// ways to write some values.
func TestEveryByteOfBoltEntry(t *testing.T) {
	dir, data := boltLogOf(t)
	var found []byte
	if _, err := boltfile.Read(bytes.NewReader(data), int64(len(data)), func(_ string, key, value []byte) error {
		if key[7] == 6 {
			found = bytes.Clone(value)
		}
		return nil
	}); err != nil || len(found) < 50 {
		t.Fatalf("%d bytes, %v", len(found), err)
	}
	at := bytes.LastIndex(data, found) // the newest of the places where it has been
	tried := 0
	for ; at >= 0; at = bytes.LastIndex(data[:at], found) {
		noticed := 0
		for i := range found {
			damaged := bytes.Clone(data)
			damaged[at+i] ^= 1 << (i % 8)
			if err := os.WriteFile(filepath.Join(dir, boltLogFile), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := openBoltLog(dir, false)
			if err != nil {
				noticed++
				continue
			}
			var got raft.Log
			if err := errors.Join(l.GetLog(6, &got), l.Close()); err != nil || !reflect.DeepEqual(&got, boltEntry(6)) {
				t.Errorf("byte %d: %+v, %v", i, got, err)
			}
		}
		if noticed > 0 {
			tried++
			if t.Logf("%d of %d bytes are noticed", noticed, len(found)); noticed < len(found)*9/10 {
				t.Error("too few are noticed")
			}
		}
	}
	if tried != 1 {
		t.Errorf("the entry is in use at %d places", tried)
	}
}

// An entry that is missing between others is noticed.
func TestBoltLogHasNoGap(t *testing.T) {
	dir, _ := boltLogOf(t)
	s, err := boltfile.Open(filepath.Join(dir, boltLogFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.DeleteRange(6, 6), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := openBoltLog(dir, false); !errors.Is(err, errDamaged) {
		t.Errorf("a log without entry 6: %v", err)
	}
}

// After a write that failed the next one works, and nothing acknowledged is missing.
func TestBoltLogAfterAFailedWrite(t *testing.T) {
	dir, _ := boltLogOf(t)
	l, err := openBoltLog(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.write(func() error { return errDamaged }); err == nil || !l.failed {
		t.Error("the failure is forgotten")
	}
	if err := l.StoreLog(&raft.Log{Index: 8, Term: 2}); err != nil || l.failed {
		t.Errorf("the next write: %v", err)
	}
	if first, last, err := l.store.Range(); first != 5 || last != 8 || err != nil {
		t.Errorf("it has %d to %d, %v", first, last, err)
	}
}
