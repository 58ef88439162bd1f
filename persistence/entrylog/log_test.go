package entrylog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// testSegment is the size of the segments here: small, so that there are many.
const testSegment = 64 << 10

// noVisit is for logs whose entries nobody wants to see while they are read.
func noVisit(uint64, []byte) {}

// entryLog is a [Log] or a [Group].
type entryLog interface {
	Range() (first, last uint64)
	Get(index uint64) ([]byte, error)
	Append(entries []Entry) error
	DropFrom(index uint64)
	DropBefore(index uint64) error
	Close() error
}

// logWorld is an entry log on a disk that may fail and lose power, and its expected contents.
type logWorld struct {
	t    *testing.T
	seed uint64
	rand *rand.Rand
	disk *testdisk.Disk
	log  entryLog

	first, last uint64            // of the expected entries; last+1 == first if there are none
	must        map[uint64]string // it
	was         map[uint64]string // the last acknowledged entry of each index ever
	behind      map[string]bool   // what may be there after last: dropped, or not acknowledged, since the last acknowledged Append
	appended    int
	done        struct{ powerLost, killed, failed int }
}

func (w *logWorld) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s\n%s", w.seed, fmt.Sprintf(format, args...), w.disk)
}

// open opens the log. It returns false if the power failed in between.
func (w *logWorld) open() bool {
	l, err := open(w.disk, true, testSegment, noVisit)
	if w.disk.Off {
		return false
	}
	if err != nil {
		w.fatalf("opening: %v", err)
	}
	w.log = l
	return w.compare()
}

// compare compares the contents of a log just opened with the expected ones. Dropped entries may exist before and after
// them, and unacknowledged ones after them. The entries found become the expected ones. It returns false if the power
// failed in between.
func (w *logWorld) compare() bool {
	first, last := w.log.Range()
	data, _ := w.log.Get(first)
	if w.disk.Off {
		return false
	}
	if first > w.last+1 && w.behind[string(data)] {
		clear(w.must) // an unacknowledged entry came after a gap, and so replaced all others
	}
	if len(w.must) > 0 && (first > w.first || last < w.last) {
		w.fatalf("entries %d to %d are there, %d to %d were acknowledged", first, last, w.first, w.last)
	}
	found := map[uint64]string{}
	for i := first; i <= last && last > 0; i++ {
		data, err := w.log.Get(i)
		if w.disk.Off {
			return false
		}
		if err != nil {
			w.fatalf("entry %d of %d to %d: %v", i, first, last, err)
		}
		switch want, ok := w.must[i]; {
		case ok && string(data) != want:
			w.fatalf("entry %d is %.20q, want %.20q", i, data, want)
		case !ok && len(w.must) > 0 && i < w.first && string(data) != w.was[i]:
			w.fatalf("entry %d is %.20q, and when it was dropped it was %.20q", i, data, w.was[i])
		case !ok && i > w.last && !w.behind[string(data)] || binary.LittleEndian.Uint64(data) != i:
			w.fatalf("entry %d, behind the last, %d, is %.20q", i, w.last, data)
		}
		found[i] = string(data)
	}
	w.must, w.was, w.first, w.last = found, maps.Clone(found), first, last
	clear(w.behind)
	return true
}

// entry makes an entry: its index, a unique number, and some bytes.
func (w *logWorld) entry(index uint64) Entry {
	w.appended++
	size := 16 + w.rand.IntN(300)
	if w.rand.IntN(6) == 0 {
		size += w.rand.IntN(testSegment / 6)
	}
	if w.rand.IntN(200) == 0 {
		size += testSegment
	}
	data := make([]byte, size)
	binary.LittleEndian.PutUint64(data, index)
	binary.LittleEndian.PutUint64(data[8:], uint64(w.appended))
	return Entry{index, data}
}

func (w *logWorld) append() {
	batch, note := w.batch()
	note(w.log.Append(batch))
}

// batch makes entries to append. note is to be called with the outcome.
func (w *logWorld) batch() (batch []Entry, note func(err error)) {
	next, anew := w.last+1, w.rand.IntN(30) == 0
	if anew { // as after a snapshot from elsewhere
		next += 10
	}
	for i := range uint64(1 + w.rand.IntN(4)) {
		batch = append(batch, w.entry(next+i))
	}
	return batch, func(err error) { w.noteAppended(batch, next, anew, err) }
}

func (w *logWorld) noteAppended(batch []Entry, next uint64, anew bool, err error) {
	for _, e := range batch {
		w.behind[string(e.Data)] = true
	}
	if err != nil {
		w.done.failed++
		w.sync()
		return
	}
	clear(w.behind)
	if anew {
		clear(w.must)
	}
	for _, e := range batch {
		w.must[e.Index], w.was[e.Index] = string(e.Data), string(e.Data)
	}
	if w.last = next + uint64(len(batch)) - 1; len(w.must) == len(batch) {
		w.first = next
	}
}

// sync copies the log's contents after an Append that failed: all of them are durable.
func (w *logWorld) sync() {
	first, last := w.log.Range()
	if first > w.last+1 { // a gap, and the log begins with the first entry after it
		clear(w.must)
	} else if len(w.must) > 0 && (first > w.first || last < w.last) {
		w.fatalf("after a failure entries %d to %d are there, and %d to %d were", first, last, w.first, w.last)
	}
	for i := max(first, w.last+1); i <= last && last > 0; i++ {
		data, err := w.log.Get(i)
		if err != nil {
			return // the disk does not answer
		}
		if len(w.must) == 0 {
			w.first = i
		}
		w.must[i], w.was[i], w.last = string(data), string(data), i
	}
}

func (w *logWorld) operate() {
	switch w.rand.IntN(12) {
	case 0:
		if len(w.must) > 1 {
			from := w.first + 1 + w.rand.Uint64N(w.last-w.first)
			w.log.DropFrom(from)
			maps.DeleteFunc(w.must, func(i uint64, data string) bool {
				w.behind[data] = w.behind[data] || i >= from
				return i >= from
			})
			w.last = from - 1
		}
	case 1, 2:
		if len(w.must) > 1 {
			before := w.first + w.rand.Uint64N(w.last-w.first)
			_ = w.log.DropBefore(before) // tried again with the next
			maps.DeleteFunc(w.must, func(i uint64, _ string) bool { return i < before })
			w.first = before
		}
	case 3:
		if len(w.must) > 0 {
			i := w.first + w.rand.Uint64N(w.last-w.first+1)
			if data, err := w.log.Get(i); err == nil && string(data) != w.must[i] || errors.Is(err, ErrNoEntry) {
				w.fatalf("entry %d: %.20q, %v; want %.20q", i, data, err, w.must[i])
			}
		}
	default:
		w.append()
	}
}

// life opens the log and works with it until it, the process or the machine ends.
func (w *logWorld) life() {
	if w.rand.IntN(2) == 0 {
		w.disk.PowerOff = 1 + w.rand.IntN(60)
	}
	if w.rand.IntN(3) == 0 {
		odds := 2 + w.rand.IntN(20)
		w.disk.Fail = func(op, name string) error {
			if op != "open" && op != "list" && op != "read" && w.log != nil && w.rand.IntN(odds) == 0 {
				return testdisk.ErrIO
			}
			return nil
		}
	}
	w.log = nil
	for alive := w.open(); alive && !w.disk.Off && w.rand.IntN(60) > 0; {
		w.operate()
	}
	if w.disk.Off || w.rand.IntN(3) == 0 {
		w.done.powerLost++
		w.disk = w.disk.LosePower()
		return
	}
	if w.done.killed++; w.log != nil {
		_ = w.log.Close()
	}
	w.disk = w.disk.AfterKill()
}

// After disk failures, kills of the process and power losses, the log has every acknowledged entry and no entry that
// was never written.
func TestLogKeepsAcknowledgedEntries(t *testing.T) {
	killed, lost, failed := 0, 0, 0
	for seed := range uint64(*testdisk.Seeds) {
		r := rand.New(rand.NewPCG(seed+*testdisk.FirstSeed, 7))
		w := &logWorld{t: t, seed: seed + *testdisk.FirstSeed, rand: r, disk: testdisk.New(r), must: map[uint64]string{}, was: map[uint64]string{}, behind: map[string]bool{}}
		for range 8 {
			w.life()
		}
		killed, lost, failed = killed+w.done.killed, lost+w.done.powerLost, failed+w.done.failed
	}
	t.Logf("%d killed, %d power losses, %d failures", killed, lost, failed)
	if killed == 0 || lost == 0 || failed == 0 {
		t.Error("too little happened")
	}
}

// usedLog returns the files of a log of a few segments, and its entries.
func usedLog(t testing.TB) (files map[string][]byte, entries map[uint64][]byte) {
	t.Helper()
	d := testdisk.New(rand.New(rand.NewPCG(1, 1)))
	l, err := open(d, true, testSegment, noVisit)
	if err != nil {
		t.Fatal(err)
	}
	entries = map[uint64][]byte{}
	for i := range uint64(40) {
		e := Entry{i + 1, bytes.Repeat([]byte{byte(i)}, 20+int(i)*120)}
		if err := l.Append([]Entry{e}); err != nil {
			t.Fatal(err)
		}
		entries[e.Index] = e.Data
	}
	if err := l.DropBefore(3); err != nil {
		t.Fatal(err)
	}
	return d.Contents(), entries
}

// A file that was cut, is missing or has changed at any place is refused with its name, unless the change concerns only
// the end of the last write, which a crash may have torn.
func TestLogRefusesDamage(t *testing.T) {
	files, entries := usedLog(t)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), disk.IsManifest)
	if len(names) != 2 {
		t.Fatalf("%d segments: %v", len(names), names)
	}
	r := rand.New(rand.NewPCG(3, 4))
	try := func(what, name string, change func(data []byte) []byte) {
		t.Helper()
		damaged := maps.Clone(files)
		if damaged[name] = change(bytes.Clone(files[name])); damaged[name] == nil {
			delete(damaged, name)
		}
		l, err := open(testdisk.Of(damaged), false, testSegment, noVisit)
		if damage, ok := errors.AsType[*disk.DamageError](err); ok {
			if !strings.HasPrefix(damage.Name, "log-") {
				t.Errorf("%s: the file is said to be %s", what, damage.Name)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		first, last := l.Range()
		if first != 1 || last < 39 {
			t.Errorf("%s: entries %d to %d are left", what, first, last)
		}
		for i := first; i <= last; i++ {
			if data, err := l.Get(i); err != nil || !bytes.Equal(data, entries[i]) {
				t.Errorf("%s: entry %d is not what it was: %v", what, i, err)
			}
		}
	}
	for _, name := range names {
		for range 1500 {
			at, bit := r.IntN(len(files[name])), byte(1)<<r.IntN(8)
			if r.IntN(3) == 0 {
				at = r.IntN(2 * disk.HeaderBytes)
			}
			try(fmt.Sprintf("%s with bit %d of byte %d flipped", name, bit, at), name, func(data []byte) []byte { data[at] ^= bit; return data })
		}
		for range 200 {
			size := r.IntN(len(files[name]))
			damaged := maps.Clone(files)
			damaged[name] = damaged[name][:size]
			if _, err := open(testdisk.Of(damaged), false, testSegment, noVisit); err == nil {
				t.Errorf("%s is read after it was cut to %d bytes", name, size)
			}
		}
	}
	if _, err := Open(testdisk.Of(map[string][]byte{}), false); !errors.Is(err, ErrNoLog) {
		t.Errorf("without files: %v", err)
	}
}

// Unused files are recycled.
func TestLogRecyclesFiles(t *testing.T) {
	d := testdisk.New(rand.New(rand.NewPCG(1, 1)))
	l, err := open(d, true, testSegment, noVisit)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(200) {
		if err := l.Append([]Entry{{i + 1, make([]byte, testSegment/14)}}); err != nil {
			t.Fatal(err)
		}
		if i >= 20 {
			if err := l.DropBefore(i - 20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(d.Files); n > 5 {
		t.Errorf("%d files for 21 entries of a fourteenth of a segment:\n%s", n, d)
	}
	if first, last := l.Range(); first != 179 || last != 200 {
		t.Errorf("entries %d to %d", first, last)
	}
}

func FuzzLog(f *testing.F) {
	files, _ := usedLog(f)
	for name, data := range files {
		if disk.IsManifest(name) {
			continue
		}
		f.Add(data[:2000], false, uint8(0))
		f.Add(data[len(data)/2:], true, name[len(disk.LogPrefix)+19]-'0')
	}
	f.Fuzz(func(t *testing.T, data []byte, sums bool, padding uint8) {
		name := disk.FileName(disk.LogPrefix, 1)
		data = append(bytes.Clone(data), make([]byte, int(padding)*100)...)
		if sums && len(data) >= disk.HeaderBytes {
			if padding%2 == 0 { // as every segment is
				data = append(data, make([]byte, disk.AlignBlock(int64(len(data)))-int64(len(data)))...)
			}
			copy(data, disk.Header(disk.LogMagic, 1, int64(len(data)), 0))
			data = testdisk.ResumAll(data, disk.LogMagic, 1)
		}
		l, err := open(testdisk.Of(map[string][]byte{name: data}), true, testSegment, noVisit)
		if err != nil {
			if _, isDamage := errors.AsType[*disk.DamageError](err); !isDamage {
				t.Error(err)
			}
			return
		}
		first, last := l.Range()
		for i := first; i <= last && last > 0; i++ {
			if _, err := l.Get(i); err != nil {
				t.Error(err)
			}
		}
		if err := l.Append([]Entry{{last + 1, []byte("more")}}); err != nil {
			t.Error(err)
		}
	})
}

// goldenEntry is an entry of the golden logs.
func goldenEntry(index uint64) Entry {
	return Entry{index, bytes.Repeat([]byte{byte(index)}, int(index)*40)}
}

// The logs of every version of the format are read with their original contents.
func TestGoldenLogs(t *testing.T) {
	if *update {
		dir := disk.Dir("testdata/golden/v2")
		if err := os.Mkdir(string(dir), 0o755); err != nil {
			t.Fatalf("%v: logs of a released version stay as they are; remove them first if no release writes them", err)
		}
		l, err := open(dir, true, 2<<10, noVisit)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(12) {
			if err := l.Append([]Entry{goldenEntry(i + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(l.DropBefore(9), l.Close()); err != nil {
			t.Fatal(err)
		}
		for _, name := range must(dir.List()) {
			if strings.HasSuffix(name, disk.RecycledSuffix) {
				_ = dir.Remove(name)
			}
		}
	}
	dirs := must(filepath.Glob("testdata/golden/v*"))
	if len(dirs) == 0 {
		t.Fatal("there are none")
	}
	for _, dir := range dirs {
		files := map[string][]byte{}
		for _, name := range must(disk.Dir(dir).List()) {
			files[name] = must(os.ReadFile(filepath.Join(dir, name)))
		}
		l, err := Open(testdisk.Of(files), false)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		first, last := l.Range()
		if first != 8 || last != 12 {
			t.Errorf("%s has entries %d to %d", dir, first, last)
		}
		for i := first; i <= last; i++ {
			if data, err := l.Get(i); err != nil || !bytes.Equal(data, goldenEntry(i).Data) {
				t.Errorf("%s: entry %d is %x, %v", dir, i, data, err)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// writeProtected is a file system that is mounted for reading only.
type writeProtected struct{ disk.FS }

func (writeProtected) Create(string) (disk.File, error)   { return nil, testdisk.ErrReadOnly }
func (writeProtected) Edit(string) (disk.File, error)     { return nil, testdisk.ErrReadOnly }
func (writeProtected) Rewrite(string, int64, int64) error { return testdisk.ErrReadOnly }
func (writeProtected) SyncDir() error                     { return testdisk.ErrReadOnly }

// A log, or one file of it, can be inspected on a read-only file system.
func TestInspectWriteProtectedLog(t *testing.T) {
	dir := disk.Dir(t.TempDir())
	log, err := open(dir, true, 1<<10, noVisit)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20) {
		if err := log.Append([]Entry{{i + 1, make([]byte, 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	first, last, files, err := Inspect(writeProtected{dir}, func(Entry) error { return nil })
	if first != 1 || last != 20 || files < 3 || err != nil {
		t.Errorf("entries %d to %d in %d files, %v", first, last, files, err)
	}
	first, last, err = InspectFile(writeProtected{dir}, disk.FileName(disk.LogPrefix, 2))
	if first < 2 || last >= 20 || last < first || err != nil {
		t.Errorf("in the second file are entries %d to %d, %v", first, last, err)
	}
}

var update = flag.Bool("update", false, "write the golden log of this version of the format")
