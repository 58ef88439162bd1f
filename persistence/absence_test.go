package persistence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// moment is a directory with the state that was acknowledged by then.
type moment struct {
	what  string
	files map[string][]byte
	state string
}

// moments are copies of a directory while its server is killed, saves, and is stopped, with keys of a name in two
// databases. In the mode snapshot only saved changes count.
func moments(t *testing.T, mode Mode, named string) (all []moment) {
	t.Helper()
	d, keys := testdisk.Of(nil), 0
	for life := range 4 {
		s := store.New(store.Config{Shards: 1})
		found, err := Recover(d, s, someTime, false, quiet)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewManager(Options{FS: d, Store: s, Clock: func() int64 { return someTime }, Log: quiet, Mode: mode, JournalBytes: 1 << 30}, found)
		if err != nil {
			t.Fatal(err)
		}
		note := func(what string) {
			all = append(all, moment{fmt.Sprintf("life %d, %s", life+1, what), d.Contents(), shown(s)})
		}
		take := func() {
			keys++
			op := engine.Op{Key: database.Append(nil, uint8(keys%2), fmt.Appendf(nil, "%s-%d", named, keys)), Limit: tokenLimits[0], Tokens: 1}
			s.Apply(someTime, []engine.Op{op}, make([]engine.Result, 1))
			if m.journal == nil {
				return
			}
			m.flush()
			if err := m.sync(true); err != nil {
				t.Fatal(err)
			}
			note("a key taken")
		}
		save := func() {
			m.startSnapshot()
			m.finishSnapshot(<-m.snapshotDone)
			if m.journal != nil && m.sync(true) != nil {
				t.Fatal(m.Err())
			}
			note("saved")
		}
		take()
		take()
		switch life {
		case 0, 2:
			save()
			take()
			if life == 2 {
				save()
			}
		case 3:
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			m.Run(ended)
			note("stopped")
		}
		s.Close()
		d = d.AfterKill()
	}
	return all
}

// change is what happens to a file.
type change struct {
	how, name string
	file      []byte // nil if it is removed
}

// changes lists what can happen to the files of a directory: each is removed, is the older one of its name, or that of
// another directory.
func changes(now, older, other map[string][]byte) (all []change) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		all = append(all, change{"removed", name, nil})
		if old, is := older[name]; is && !bytes.Equal(old, now[name]) {
			all = append(all, change{"aged", name, old})
		}
		if foreign, is := other[name]; is {
			all = append(all, change{"swapped", name, foreign})
		}
	}
	return all
}

// carryOut returns the files after changes.
func carryOut(now map[string][]byte, all ...change) map[string][]byte {
	next := maps.Clone(now)
	for _, c := range all {
		if delete(next, c.name); c.file != nil {
			next[c.name] = c.file
		}
	}
	return next
}

// isWhole reports whether files are all the files of some moment: nothing distinguishes them from a directory that was
// never changed later.
func isWhole(files map[string][]byte, of ...[]moment) bool {
	return len(files) == 0 || slices.ContainsFunc(slices.Concat(of...), func(m moment) bool { return maps.EqualFunc(m.files, files, bytes.Equal) })
}

// Whichever file, or two files, of a directory are missing, older than the others, or those of another directory: a
// start names one of them, or has all that was acknowledged.
func TestAbsence(t *testing.T) {
	for _, mode := range []Mode{Interval, Always, SnapshotOnly} {
		own, others := moments(t, mode, "own"), moments(t, mode, "other")
		tried, refused := 0, 0
		for at, now := range own {
			for before := range max(at, 1) {
				all := changes(now.files, own[before].files, others[at].files)
				for i, first := range all {
					for _, second := range all[i:] {
						if second.name == first.name && second.how != first.how || blindsManifest(first, second) {
							continue
						}
						files := carryOut(now.files, first, second)
						if isWhole(files, own, others) {
							continue
						}
						tried++
						if checkAbsence(t, fmt.Sprintf("%s, %s, %s and %s, %s and %s", mode, now.what, first.how, second.how, first.name, second.name), files, now.state) {
							refused++
						}
					}
				}
			}
		}
		t.Logf("%s: %d changes, of which %d are refused", mode, tried, refused)
	}
}

// blindsManifest reports whether the manifest is older, and the newest file of which only it would know is changed,
// too: as if both had never been written.
func blindsManifest(first, second change) bool {
	return first.how == "aged" && disk.IsManifest(first.name) && second.name != first.name && second.how != "swapped" ||
		second.how == "aged" && disk.IsManifest(second.name) && first.name != second.name && first.how != "swapped"
}

// checkAbsence reports whether a start refuses files. If it does not, it must have a state. With repair, and by
// inspection, the same is found.
func checkAbsence(t *testing.T, what string, files map[string][]byte, state string) (refused bool) {
	t.Helper()
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	_, err := Recover(testdisk.Of(files), s, someTime, false, quiet)
	if err == nil {
		if got := shown(s); got != state {
			t.Errorf("%s: the start has\n%s\nwant\n%s", what, got, state)
		}
		return false
	}
	damage, is := errors.AsType[*disk.DamageError](err)
	if !is || !strings.HasSuffix(damage.Name, ".stint") {
		t.Errorf("%s: %v", what, err)
	}
	d, again := testdisk.Of(files), store.New(store.Config{Shards: 1})
	defer again.Close()
	found, err := Recover(d, again, someTime, true, quiet)
	if err != nil || !found.Repaired {
		t.Fatalf("%s: repairing: %v", what, err)
	}
	m, err := NewManager(Options{FS: d, Store: again, Clock: func() int64 { return someTime }, Log: quiet, Mode: Interval, JournalBytes: 1 << 30}, found)
	if err != nil {
		t.Fatalf("%s: repairing: %v", what, err)
	}
	m.startSnapshot() // as it does at once
	m.finishSnapshot(<-m.snapshotDone)
	next := store.New(store.Config{Shards: 1})
	defer next.Close()
	if _, err := Recover(d.AfterKill(), next, someTime, false, quiet); err != nil || shown(next) != shown(again) {
		t.Errorf("%s: after a repair: %v", what, err)
	}
	return true
}

// The files of an earlier version have no identity. A directory of them starts, has one from then on, and starts after
// the earlier version has added files to it.
func TestAbsenceInEarlierVersions(t *testing.T) {
	d := testdisk.Of(nil)
	start := func() (Recovered, *Manager, *store.Store) {
		t.Helper()
		s := store.New(store.Config{Shards: 1})
		t.Cleanup(s.Close)
		found, err := Recover(d, s, someTime, false, quiet)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewManager(Options{FS: d, Store: s, Clock: func() int64 { return someTime }, Log: quiet, Mode: Always, JournalBytes: 1 << 30}, found)
		if err != nil {
			t.Fatal(err)
		}
		return found, m, s
	}
	live := func(isEarlier bool) {
		t.Helper()
		_, m, s := start()
		if isEarlier {
			m.manifest = &disk.Manifest{}
			m.journal.in = m.manifest
		}
		m.startSnapshot()
		m.finishSnapshot(<-m.snapshotDone)
		s.Apply(someTime, []engine.Op{{Key: fmt.Appendf(nil, "k%d", m.number), Limit: tokenLimits[0], Tokens: 1}}, make([]engine.Result, 1))
		if m.flush(); m.sync(true) != nil {
			t.Fatal(m.Err())
		}
		if d = d.AfterKill(); isEarlier && m.number < 3 {
			delete(d.Files, disk.ManifestFile)
		}
	}
	live(true)
	live(false)
	live(true)
	live(true)
	found, m, s := start()
	if s.Len() != 4 || found.manifest == nil || m.manifest.Claims().First != found.next {
		t.Errorf("%d keys, %+v", s.Len(), found)
	}
	d = d.AfterKill()
	start()
	files := d.Contents()
	delete(files, found.Snapshot)
	if _, _, _, err := recoverFiles(files, false); !errors.Is(err, disk.ErrAbsent) {
		t.Errorf("without the snapshot of an earlier version: %v", err)
	}
}

// A snapshot that is copied out of its directory is a backup, and begins another one.
func TestAdoptedSnapshot(t *testing.T) {
	all := moments(t, Always, "own")
	last := all[len(all)-1]
	name := disk.FileName(disk.SnapshotPrefix, 7)
	d := testdisk.Of(map[string][]byte{name: last.files[name]})
	if err := disk.Adopt(d, 7); err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	if _, err := Recover(d, s, someTime, false, quiet); err != nil || shown(s) != last.state {
		t.Errorf("%v: %s", err, shown(s))
	}
}
