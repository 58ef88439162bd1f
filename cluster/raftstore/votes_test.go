package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stintdb/stint/internal/atomicfile"
)

// openTestVotes opens votes in a directory that has been in use, and closes them with the test.
func openTestVotes(t *testing.T, dir string) *votes {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, IdentityFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	v, _, err := loadVotes(dir, "", func(records) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// newVotes opens votes in a new directory.
func newVotes(t *testing.T) *votes {
	t.Helper()
	dir := t.TempDir()
	v, _, err := loadVotes(dir, "", func(records) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// readCopies returns the files of votes as they are.
func readCopies(t *testing.T, dir string) (copies [2][]byte) {
	t.Helper()
	for i, name := range votesFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		copies[i] = data
	}
	return copies
}

// crashes returns the files that a crash may leave of a file that a write of bbolt changed. bbolt syncs the pages after
// the first two, and then one of the first two, whose first sector is written whole or not at all.
func crashes(before, after []byte) (left [][]byte) {
	const page = 4096
	before = append(bytes.Clone(before), make([]byte, max(0, len(after)-len(before)))...)
	var changed []int
	for at := 2 * page; at < len(after); at += page {
		if !bytes.Equal(before[at:at+page], after[at:at+page]) {
			changed = append(changed, at)
		}
	}
	for some := range 1 << len(changed) {
		one := bytes.Clone(before)
		for i, at := range changed {
			if some>>i&1 == 1 {
				copy(one[at:at+page], after[at:])
			}
		}
		left = append(left, one)
		for i, at := range changed { // torn in the middle
			if some>>i&1 == 1 {
				torn := bytes.Clone(one)
				copy(torn[at+page/2:at+page], before[at+page/2:])
				left = append(left, torn)
			}
		}
	}
	return append(left, after)
}

// Wherever a crash ends the writes of both copies, the next start finds the old or the new value, and every other
// value. After a write was acknowledged it finds the new value, even if one copy is lost.
func TestVotesCrash(t *testing.T) {
	v := newVotes(t)
	for term := uint64(1); term < 8; term++ {
		before, want := readCopies(t, v.dir), v.records
		if err := v.SetUint64(termKey, term); err != nil {
			t.Fatal(err)
		}
		if term%3 == 0 {
			if err := v.Set(voteKey, fmt.Appendf(nil, "node-%d", term)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		after := readCopies(t, v.dir)
		one, other := crashes(before[0], after[0]), crashes(before[1], after[1])
		if len(one) < 4 {
			t.Fatalf("%d states after a crash", len(one))
		}
		dir := t.TempDir()
		for i := range max(len(one), len(other)) {
			for _, pair := range [][2][]byte{{one[i%len(one)], other[0]}, {one[0], other[i%len(other)]},
				{one[i%len(one)], other[len(other)-1-i%len(other)]}} {
				checkCrash(t, dir, pair, want, v.records)
			}
		}
		for i := range votesFiles {
			lost := after
			lost[i] = nil
			checkCrash(t, dir, lost, v.records, v.records)
		}
	}
}

// checkCrash reads copies of votes.
func checkCrash(t *testing.T, dir string, copies [2][]byte, before, after records) {
	t.Helper()
	for i, name := range votesFiles {
		if err := os.WriteFile(filepath.Join(dir, name), copies[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := readVotes(dir, "")
	if err != nil || !found.records.equal(before) && !found.records.equal(after) {
		t.Fatalf("after a crash: %v, %v; want %v or %v", found.records, err, before, after)
	}
}

// If both copies have lost their last write, because the pages with it are damaged, the votes are refused: a vote may
// be forgotten.
func TestBothCopiesLack(t *testing.T) {
	v := newVotes(t)
	for term := range uint64(5) {
		if err := v.SetUint64(termKey, term+1); err != nil {
			t.Fatal(err)
		}
	}
	copies := readCopies(t, v.dir)
	dir := t.TempDir()
	for i, name := range votesFiles {
		for at := range 2 {
			copies[i][at*4096+16+20] ^= 1
			if err := os.WriteFile(filepath.Join(dir, name), copies[i], 0o600); err != nil {
				t.Fatal(err)
			}
			copies[i][at*4096+16+20] ^= 1
			if i == 0 {
				continue
			}
			if found, err := readVotes(dir, ""); err == nil {
				t.Errorf("%v is read", found.records)
			}
		}
	}
}

// A copy whose write failed is written again by the next write, and no value that was acknowledged is missing from either.
func TestVotesAfterAFailedWrite(t *testing.T) {
	v := newVotes(t)
	for i := range 2 {
		if err := v.SetUint64(termKey, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
		// a directory that is not empty, where the file is to be made
		blocked := filepath.Join(v.dir, votesFiles[i]+atomicfile.TempSuffix)
		if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := v.copies[i].Close(); err != nil { // as if the disk refused
			t.Fatal(err)
		}
		for range 2 {
			if err := v.SetUint64(voteTermKey, uint64(i+10)); err == nil {
				t.Fatal("a write to one copy alone is acknowledged")
			}
			if term, err := v.GetUint64(voteTermKey); err == nil && term == uint64(i+10) {
				t.Error("a write that failed is told")
			}
		}
		if err := errors.Join(os.RemoveAll(blocked), v.SetUint64(voteTermKey, uint64(i+10))); err != nil {
			t.Fatal(err)
		}
		found, err := readVotes(v.dir, "")
		if err != nil || !reflect.DeepEqual(found.copies[0], v.records) || !found.copies[1].equal(v.records) {
			t.Fatalf("%+v, %v; want %v", found, err, v.records)
		}
	}
}

// A copy that lacks the last write after a crash gets it at the next start, because the other copy may be lost later.
func TestCopyThatLagsBehind(t *testing.T) {
	for i := range votesFiles {
		v := newVotes(t)
		if err := v.SetUint64(termKey, 1); err != nil {
			t.Fatal(err)
		}
		before := readCopies(t, v.dir)
		if err := errors.Join(v.SetUint64(termKey, 2), v.Close(), os.WriteFile(filepath.Join(v.dir, votesFiles[i]), before[i],
			0o600)); err != nil {
			t.Fatal(err)
		}
		again := openTestVotes(t, v.dir)
		if err := errors.Join(again.Close(), os.Remove(filepath.Join(v.dir, votesFiles[1-i]))); err != nil {
			t.Fatal(err)
		}
		if term, err := openTestVotes(t, v.dir).GetUint64(termKey); term != 2 || err != nil {
			t.Errorf("copy %d has the term %d, %v", i, term, err)
		}
	}
}
