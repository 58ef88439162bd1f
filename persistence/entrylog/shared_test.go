package entrylog

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// sharedTestRoom is room for a few files of the size here.
const sharedTestRoom = 4 * testSegment

// sharedWorld is a log of groups on a disk that may fail and lose power. Each group has its expected contents; the last
// one writes little.
type sharedWorld struct {
	*logWorld // the disk, and what happens to it
	shared    *Shared
	groups    []*logWorld
	copied    int
}

func (w *sharedWorld) open() bool {
	w.shared = nil
	l, err := openShared(w.disk, true, slog.New(slog.DiscardHandler), testSegment, sharedTestRoom)
	if w.disk.Off {
		return false
	}
	if err != nil {
		w.fatalf("opening: %v", err)
	}
	w.shared = l
	for i, g := range w.groups {
		g.disk, g.log = w.disk, l.Group(uint32(i+1))
		if !g.compare() {
			return false
		}
	}
	return true
}

func (w *sharedWorld) operate() {
	switch w.rand.IntN(4) {
	case 0:
		w.appendTogether()
	case 1:
		w.groups[w.rand.IntN(len(w.groups))].operate()
	default:
		w.groups[w.rand.IntN(len(w.groups)-1)].operate()
	}
	w.shared.trims.Wait()
	syncs := int64(0)
	for _, g := range w.shared.groups {
		syncs += g.Syncs()
	}
	if want := w.shared.file.Syncs(); syncs != want {
		w.fatalf("the groups count %d syncs of %d", syncs, want)
	}
}

// appendTogether has several groups append with one write.
func (w *sharedWorld) appendTogether() {
	var writes []*sharedWrite
	var notes []func(error)
	for i, g := range w.groups {
		if i == len(w.groups)-1 && w.rand.IntN(5) > 0 || w.rand.IntN(3) == 0 {
			continue
		}
		batch, note := g.batch()
		write, err := g.log.(*Group).newWrite(batch)
		if err != nil {
			w.fatalf("%v", err)
		}
		writes, notes = append(writes, write), append(notes, note)
	}
	if len(writes) == 0 {
		return
	}
	w.shared.write(writes)
	for i, write := range writes {
		notes[i](<-write.done)
	}
}

// life is [logWorld.life].
func (w *sharedWorld) life() {
	if w.rand.IntN(2) == 0 {
		w.disk.PowerOff = 1 + w.rand.IntN(200)
	}
	if w.rand.IntN(3) == 0 {
		odds := 2 + w.rand.IntN(20)
		w.disk.Fail = func(op, name string) error {
			if op != "open" && op != "list" && op != "read" && w.shared != nil && w.rand.IntN(odds) == 0 {
				return testdisk.ErrIO
			}
			return nil
		}
	}
	for alive := w.open(); alive && !w.disk.Off && w.rand.IntN(100) > 0; {
		w.operate()
	}
	if w.shared != nil {
		for _, g := range w.shared.groups {
			for _, p := range g.places {
				if p.number != p.order {
					w.copied++
				}
			}
		}
	}
	if w.disk.Off || w.rand.IntN(3) == 0 {
		w.done.powerLost++
		w.disk = w.disk.LosePower()
		return
	}
	if w.done.killed++; w.shared != nil {
		for _, g := range w.groups {
			_ = g.log.Close()
		}
	}
	w.disk = w.disk.AfterKill()
}

// After disk failures, kills of the process and power losses, each group's log has every acknowledged entry and none
// that was never written.
func TestSharedKeepsAcknowledgedEntries(t *testing.T) {
	killed, lost, failed, copied := 0, 0, 0, 0
	for seed := range uint64(*testdisk.Seeds) {
		seed += *testdisk.FirstSeed
		r := rand.New(rand.NewPCG(seed, 9))
		w := &sharedWorld{logWorld: &logWorld{t: t, seed: seed, rand: r, disk: testdisk.New(r)}}
		for range 3 {
			w.groups = append(w.groups, &logWorld{t: t, seed: seed, rand: r, disk: w.disk, must: map[uint64]string{}, was: map[uint64]string{}, behind: map[string]bool{}})
		}
		for range 8 {
			w.life()
		}
		for _, g := range w.groups {
			failed += g.done.failed
		}
		killed, lost, copied = killed+w.done.killed, lost+w.done.powerLost, copied+w.copied
	}
	t.Logf("%d killed, %d power losses, %d failures, %d entries were copied", killed, lost, failed, copied)
	if killed == 0 || lost == 0 || failed == 0 || copied == 0 {
		t.Error("too little happened")
	}
}

// A group that writes nothing does not keep the files of others, and keeps its entries.
func TestQuietGroupKeepsNoFiles(t *testing.T) {
	d := testdisk.New(rand.New(rand.NewPCG(1, 1)))
	open := func() (l *Shared, quiet, busy *Group) {
		l, err := openShared(d, true, slog.New(slog.DiscardHandler), testSegment, sharedTestRoom)
		if err != nil {
			t.Fatal(err)
		}
		return l, l.Group(1), l.Group(2)
	}
	l, quiet, busy := open()
	entry := func(i uint64) Entry { return Entry{i, bytes.Repeat([]byte{byte(i)}, 1000)} }
	for i := range uint64(10) {
		if err := quiet.Append([]Entry{entry(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(5000) {
		if err := busy.Append([]Entry{entry(i + 1)}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			_ = busy.DropBefore(max(i, 50) - 50)
			l.trims.Wait()
			if n := len(l.file.segments); n > 9 {
				t.Fatalf("%d files of %d bytes at entry %d", n, testSegment, i)
			}
		}
	}
	for range 2 {
		for i := range uint64(10) {
			if data, err := quiet.Get(i + 1); err != nil || !bytes.Equal(data, entry(i+1).Data) {
				t.Errorf("entry %d of the quiet group: %d bytes, %v", i+1, len(data), err)
			}
		}
		if first, last := quiet.Range(); first != 1 || last != 10 {
			t.Errorf("it has entries %d to %d", first, last)
		}
		if _, last := busy.Range(); last != 5000 {
			t.Errorf("the busy group has entries up to %d", last)
		}
		_ = quiet.Close()
		_ = busy.Close()
		l, quiet, busy = open()
	}
	_ = l
}

// The oldest records may be entries that nobody needs, which a later one has replaced: their rest does not hide the
// log.
func TestReplacedEntriesHideNothing(t *testing.T) {
	d := testdisk.New(rand.New(rand.NewPCG(1, 1)))
	l, err := openShared(d, true, slog.New(slog.DiscardHandler), testSegment, sharedTestRoom)
	if err != nil {
		t.Fatal(err)
	}
	g := l.Group(1)
	add := func(index uint64, text string) {
		if err := g.Append([]Entry{{index, []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(10) {
		add(i+1, "old")
	}
	g.DropFrom(8)
	add(8, "new")
	if _, err := l.copy([]sharedEntry{{g, 1, 1}, {g, 2, 2}, {g, 3, 3}, {g, 4, 4}, {g, 5, 5}, {g, 6, 6}, {g, 7, 7}}); err != nil {
		t.Fatal(err)
	}
	late := newSharedWrite(1) // a copy of an entry that was replaced while it was read
	record, err := l.file.Get(8)
	if err != nil {
		t.Fatal(err)
	}
	late.add(record, sharedEntry{g, 8, 8})
	if err := l.append(late); err != nil {
		t.Fatal(err)
	}
	if data, err := g.Get(8); err != nil || string(data) != "new" {
		t.Errorf("entry 8 is %q, %v", data, err)
	}
	found := &sharedRecords{log: &Shared{next: 1, groups: map[uint32]*Group{}}}
	for number := uint64(9); number <= l.next-1; number++ { // as if the file before had been removed
		record, err := l.file.Get(number)
		if err != nil {
			t.Fatal(err)
		}
		found.add(number, record)
	}
	if err := found.restore(); err != nil {
		t.Fatal(err)
	}
	if first, last := found.log.group(1).Range(); first != 1 || last != 8 {
		t.Errorf("entries %d to %d", first, last)
	}
}

// Groups that append at the same time share writes, and a record read while it is copied is the right one.
func TestSharedByManyGoroutines(t *testing.T) {
	dir := disk.Dir(t.TempDir())
	l, err := openShared(dir, true, slog.New(slog.DiscardHandler), 16<<10, 32<<10)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*Group
	var running sync.WaitGroup
	for number := range uint32(6) {
		g := l.Group(number + 1)
		groups = append(groups, g)
		running.Go(func() {
			for i := uint64(1); i <= 150; i++ {
				if number == 0 && i > 8 {
					break // a quiet one
				}
				text := fmt.Append(nil, number, " ", i)
				if err := g.Append([]Entry{{i, append(text, make([]byte, 500)...)}}); err != nil {
					t.Error(err)
					return
				}
				if data, err := g.Get(max(1, i-i%7)); err == nil && !bytes.HasPrefix(data, fmt.Append(nil, number, " ", max(1, i-i%7))) {
					t.Errorf("group %d: entry %d is %.10q", number, max(1, i-i%7), data)
				}
				if i%20 == 0 {
					_ = g.DropBefore(i - 10)
				}
			}
		})
	}
	running.Wait()
	for number, g := range groups {
		first, last := g.Range()
		for i := first; i <= last; i++ {
			if data, err := g.Get(i); err != nil || !bytes.HasPrefix(data, fmt.Append(nil, number, " ", i)) {
				t.Errorf("group %d: entry %d is %.10q, %v", number, i, data, err)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	ranges, _, err := InspectShared(dir, func(uint32, Entry) error { return nil })
	if err != nil || ranges[2][1] != 150 || ranges[1] != [2]uint64{1, 8} {
		t.Errorf("inspected: %v, %v", ranges, err)
	}
}
