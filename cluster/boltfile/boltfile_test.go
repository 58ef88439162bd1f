package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// contents reads a file as visit sees it: the values, and the entries by their bytes.
func contents(data []byte) (all map[string]string, whole bool, err error) {
	all = map[string]string{}
	whole, err = Read(bytes.NewReader(data), int64(len(data)), func(bucket string, key, value []byte) error {
		all[bucket+string(key)] = string(value)
		return nil
	})
	return all, whole, err
}

// Files of bbolt can be read after any changes.
func TestReadWhatBboltWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "test.bolt")
	s, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	values, first, last := map[string]string{}, uint64(1), uint64(0)
	for range 300 {
		switch r.IntN(4) {
		case 0:
			key, value := fmt.Sprint("key", r.IntN(30)), string(make([]byte, r.IntN(400)))
			err = s.Set([]byte(key), []byte(value))
			values[key] = value
		case 1:
			if last > first+20 {
				next := first + 1 + r.Uint64N(20)
				err = s.DeleteRange(first, next-1)
				first = next
			}
		case 2:
			if last > first+20 {
				from := last - r.Uint64N(10)
				err = s.DeleteRange(from, last)
				last = from - 1
			}
		default:
			var logs []*raft.Log
			for range 1 + r.IntN(20) {
				last++
				logs = append(logs, &raft.Log{Index: last, Data: make([]byte, r.IntN(400)*(1+r.IntN(20)*r.IntN(2)))})
			}
			err = s.StoreLogs(logs)
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, whole, err := contents(data)
		if err != nil && last > 0 {
			t.Fatal(err)
		}
		for key, value := range values {
			if got["conf"+key] != value {
				t.Fatalf("%s is %q", key, got["conf"+key])
			}
		}
		for i := first; i <= last; i++ {
			if _, ok := got["logs"+string(binary.BigEndian.AppendUint64(nil, i))]; !ok {
				t.Fatalf("entry %d is missing", i)
			}
		}
		if want := len(values) + int(last+1-first); len(got) != want || !whole {
			t.Fatalf("%d keys, want %d; whole: %v", len(got), want, whole)
		}
	}
	if got, till, err := s.Range(); got != first || till != last || err != nil {
		t.Errorf("entries %d to %d, want %d to %d, %v", got, till, first, last, err)
	}
	if _, err := View(path); !errors.Is(err, ErrInUse) {
		t.Errorf("it is opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A bit that flips in a page in use is noticed, unless it only changes a key or a value, which the owner of the file
// seals, or Read says that the file is as it was before the last write.
func TestEveryByteOfPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.bolt")
	s, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var logs []*raft.Log
	for i := range uint64(40) { // a branch and leaves, one of several pages, and a bucket inside the root's page
		logs = append(logs, &raft.Log{Index: i + 1, Data: make([]byte, 200+i/39*9000)})
	}
	if err := errors.Join(s.StoreLogs(logs), s.Set([]byte("a"), []byte("one")), s.Set([]byte("b"), []byte("two")),
		s.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want [][2][]byte
	changed, at := 0, 0
	visit := func(_ string, key, value []byte) error {
		if at >= len(want) || !bytes.Equal(key, want[at][0]) || !bytes.Equal(value, want[at][1]) {
			changed++
		}
		at++
		return nil
	}
	if _, err := Read(bytes.NewReader(data), int64(len(data)), func(_ string, key, value []byte) error {
		want = append(want, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
		return nil
	}); err != nil || len(want) != 42 {
		t.Fatalf("%d keys, %v", len(want), err)
	}
	noticed, isUsed := 0, false
	for i := range data {
		if at := i % pageSize; at > 0 && (!isUsed || at > 300 && at%13 > 0) {
			continue // every byte of the fields that say where others are
		}
		changed, at = 0, 0
		data[i] ^= 1 << (i % 8)
		whole, err := Read(bytes.NewReader(data), int64(len(data)), visit)
		data[i] ^= 1 << (i % 8)
		if i%pageSize == 0 {
			isUsed = err != nil || changed > 0 || i < 2*pageSize
		}
		switch {
		case err != nil || !whole:
			noticed++
		case at != len(want) || changed > 1:
			t.Fatalf("byte %d: %d keys, %d changes", i, at, changed)
		}
	}
	t.Logf("%d of %d bytes are noticed here", noticed, len(data))
	if noticed < 500 {
		t.Error("too few are noticed")
	}
}

// The reader notices a page of zeros, or with the contents of another page, unless it was not in use. A page with its
// former contents can hide later writes, because pages have neither checksums nor times, but it shows no false ones.
// Votes have a second file for that.
func TestLostPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.bolt")
	s, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var before []byte
	for i := range uint64(80) {
		if i == 60 {
			if before, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.StoreLogs([]*raft.Log{{Index: i + 1, Data: make([]byte, 300)}}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := contents(data)
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for page := 0; page < len(data); page += pageSize {
		former := before[min(page, len(before)-pageSize):]
		for kind, other := range [][]byte{make([]byte, pageSize), data[(page+pageSize)%len(data):], former} {
			lost := bytes.Clone(data)
			copy(lost[page:page+pageSize], other)
			got, whole, err := contents(lost)
			switch {
			case err != nil || !whole:
				noticed++
			case kind == 2 && isPartOf(got, want):
			case !maps.Equal(got, want):
				t.Errorf("page %d, kind %d: %d keys of %d", page/pageSize, kind, len(got), len(want))
			}
		}
	}
	if noticed < 10 {
		t.Errorf("%d are noticed", noticed)
	}
}

func isPartOf(part, whole map[string]string) bool {
	for key, value := range part {
		if has, is := whole[key]; !is || has != value {
			return false
		}
	}
	return true
}

// A panic in bbolt, or a file that ends before its pages do, becomes an error.
func TestGuard(t *testing.T) {
	if err := guard(func() error { panic("a page") }); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "test.bolt")
	s, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StoreLogs([]*raft.Log{{Index: 1, Data: make([]byte, 3000)}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2*pageSize); err != nil {
		t.Fatal(err)
	}
	var l raft.Log
	if err := s.GetLog(1, &l); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file cut short: %v", err)
	}
}

// A page that is in two places of the tree is noticed: a write in one would change the other.
func TestPageInTwoPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.bolt")
	s, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Set([]byte("a"), make([]byte, 3000)),
		s.StoreLogs([]*raft.Log{{Index: 1, Data: make([]byte, 3000)}}), s.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	patched := 0
	for at := bytes.Index(data, []byte(Values)); at >= 0 && at+40 < len(data); {
		if string(data[at+20:at+24]) == Logs { // after each name comes the number of the bucket's page
			patched += copy(data[at+24:at+32], data[at+4:at+12])
		}
		next := bytes.Index(data[at+1:], []byte(Values))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if _, _, err := contents(data); patched == 0 || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(),
		"used twice") {
		t.Errorf("%d bytes changed: %v", patched, err)
	}
}
