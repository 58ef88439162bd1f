package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/persistence/disk"
)

var quiet = slog.New(slog.DiscardHandler)

const someTime = 1_700_000_000 * second

// written returns the files of a short run: a snapshot, its journal and, if requested, the next journal. Each key is
// written once in each, so that the contents of every file matter.
func written(t testing.TB, withNext bool) map[string][]byte {
	t.Helper()
	d := testdisk.Of(nil)
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	now := someTime
	clock := func() int64 { return now }
	take := func(keys ...string) {
		for _, key := range keys {
			op := engine.Op{Key: []byte(key), Limit: tokenLimits[0], Tokens: 1}
			s.Apply(now, []engine.Op{op}, make([]engine.Result, 1))
		}
	}
	m, err := NewManager(Options{FS: d, Store: s, Clock: clock, Log: quiet, Mode: Always, JournalBytes: 1 << 30}, Recovered{})
	if err != nil {
		t.Fatal(err)
	}
	m.journal.step = 2 * disk.BlockAlign
	flush := func() {
		m.Commit(func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		})
		m.flush()
	}
	part := []engine.Op{{Key: []byte("{}"), Limit: tokenLimits[1]}}
	s.Apply(now, []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"), Parts: part}}, make([]engine.Result, 1))
	take("a", "b", "c")
	m.startSnapshot()
	m.finishSnapshot(<-m.snapshotDone)
	take("a", "d")
	flush()
	take("b", "e")
	flush()
	take("a")
	flush()
	if withNext {
		if err := m.rotate(); err != nil {
			t.Fatal(err)
		}
		take("f", "c")
		flush()
		take("c")
		flush()
	}
	return d.Contents()
}

// taken shows the tokens taken of every key.
func taken(s *store.Store) map[string]int64 {
	all := map[string]int64{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		res := make([]engine.Result, 1)
		s.Apply(someTime, []engine.Op{{Verb: engine.Look, Key: []byte(key)}}, res)
		if res[0].Status == engine.OK {
			all[key] = res[0].Limit - res[0].Remaining
		}
	}
	if _, found := s.Policy("p"); found {
		all["p"] = 1
	}
	if s.Len() != len(all)-int(all["p"]) {
		all["something else"] = int64(s.Len())
	}
	return all
}

func recoverFiles(files map[string][]byte, repair bool) (*testdisk.Disk, map[string]int64, Recovered, error) {
	d := testdisk.Of(files)
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	found, err := Recover(d, s, someTime, repair, quiet)
	return d, taken(s), found, err
}

// harm is a file with one place damaged, and where.
type harm struct {
	what   string
	offset int
	data   []byte
}

// harms returns a file with a bit of every byte flipped in turn, and cut off at every offset: of every thirteenth at
// the quick size.
func harms(file []byte) (all []harm) {
	for i := 0; i < len(file); i += testsize.Pick(13, 1) {
		flipped := bytes.Clone(file)
		flipped[i] ^= 1 << (i * 3 % 8)
		all = append(all, harm{fmt.Sprintf("bit %d of byte %d flipped", i*3%8, i), i, flipped})
		all = append(all, harm{fmt.Sprintf("cut off at %d", i), i, file[:i]})
	}
	return all
}

// After any change of a byte in any file, or any cut, the state is right, or the server refuses to start and names the
// place. Only the last block of the last journal, without proof that it had been synced, may be taken for one that was
// being written. With repair the server starts in every case, keeps a copy, and has lost only one block.
func TestDamageAnywhereIsFound(t *testing.T) {
	for _, withNext := range []bool{false, true} {
		files := written(t, withNext)
		_, want, _, err := recoverFiles(files, false)
		if err != nil || len(want) < 6 {
			t.Fatal(err, want)
		}
		journals := 0
		for name := range files {
			journals += strings.Count(name, disk.JournalPrefix)
		}
		if !withNext && journals != 1 || withNext && journals != 2 {
			t.Fatalf("%d journals", journals)
		}
		for name, file := range files {
			isLast := strings.HasPrefix(name, disk.JournalPrefix) && (!withNext || name == disk.FileName(disk.JournalPrefix, 2))
			for _, h := range harms(file) {
				harmed := maps.Clone(files)
				harmed[name] = h.data
				_, got, found, err := recoverFiles(harmed, false)
				where := fmt.Sprintf("%s, %d journals, %s", name, journals, h.what)
				if damage, ok := errors.AsType[*disk.DamageError](err); ok {
					if damage.Name != name || damage.Offset > int64(h.offset) || damage.Offset < int64(h.offset)-1024 {
						t.Errorf("%s: found as %v", where, err)
					}
				} else if err != nil {
					t.Errorf("%s: %v", where, err)
				} else if !maps.Equal(got, want) && !(isLast && isEarlier(got, want, h, file)) {
					t.Errorf("%s: recovered as %v, want %v; %+v", where, got, want, found)
				}
				d, got, found, err := recoverFiles(harmed, true)
				if err != nil {
					t.Errorf("%s: repairing: %v", where, err)
					continue
				}
				copied, isCopied := d.Contents()[name+damagedSuffix]
				if found.Repaired != isCopied || found.Repaired && !bytes.Equal(copied, h.data) {
					t.Errorf("%s: repaired %t, a copy of %d bytes", where, found.Repaired, len(copied))
				}
				if lost := lostTokens(got, want); found.Repaired && lost > 3 && !strings.HasPrefix(h.what, "cut") || lost < 0 {
					t.Errorf("%s: repaired to %v, want %v", where, got, want)
				}
			}
		}
	}
}

// isEarlier reports whether a state is the one before the last block of the last journal was written or, if the file
// was cut, before several blocks.
func isEarlier(got, want map[string]int64, h harm, file []byte) bool {
	lost := lostTokens(got, want)
	if strings.HasPrefix(h.what, "cut") {
		return lost > 0 // that it ends too early nothing shows: it is the last one
	}
	return lost > 0 && lost <= 2 && h.offset >= len(file)-2*disk.BlockAlign
}

// lostTokens is how much less is taken; below zero if anything is more.
func lostTokens(got, want map[string]int64) (lost int64) {
	for key, n := range got {
		if n > want[key] {
			return -1
		}
	}
	for key, n := range want {
		lost += n - got[key]
	}
	return lost
}

// What cannot be read is refused with the reason, and --repair does not pass over a newer format.
func TestFilesThatAreRefused(t *testing.T) {
	snapshot, journal, next := disk.FileName(disk.SnapshotPrefix, 1), disk.FileName(disk.JournalPrefix, 1), disk.FileName(disk.JournalPrefix, 2)
	begun := func(f map[string][]byte) []byte { // a journal of the directory
		m, err := disk.ReadManifest(testdisk.Of(f))
		if err != nil {
			t.Fatal(err)
		}
		return disk.JournalHeader(1, disk.Predecessor{}, m.Identity(), 0)
	}
	ofVersion := func(version byte, magic string) []byte {
		b := disk.Header(magic, 1)
		b[8] = version
		return testdisk.Resum(b)
	}
	for _, c := range []struct {
		name   string
		change func(files map[string][]byte)
		where  string
		offset int64
		reason error
	}{
		{"a newer snapshot", func(f map[string][]byte) { f[snapshot] = ofVersion(disk.FormatVersion+1, disk.SnapshotMagic) }, snapshot, 8, disk.ErrNewer},
		{"a newer journal", func(f map[string][]byte) { f[journal] = ofVersion(disk.FormatVersion+1, disk.JournalMagic) }, journal, 8, disk.ErrNewer},
		{"a snapshot of an unreleased format", func(f map[string][]byte) { f[snapshot] = ofVersion(1, disk.SnapshotMagic) }, snapshot, 8, disk.ErrNotOurs},
		{"a journal of an unreleased format", func(f map[string][]byte) { f[journal] = ofVersion(1, disk.JournalMagic) }, journal, 8, disk.ErrNotOurs},
		{"a text", func(f map[string][]byte) { f[snapshot] = []byte("dear diary") }, snapshot, 0, disk.ErrNotOurs},
		{"a short text", func(f map[string][]byte) { f[disk.FileName(disk.JournalPrefix, 3)] = []byte("hello\n") }, disk.FileName(disk.JournalPrefix, 3), 0, disk.ErrNotOurs},
		{"a long text", func(f map[string][]byte) { f[journal] = bytes.Repeat([]byte("dear diary"), 100) }, journal, 0, disk.ErrNotOurs},
		{"a journal for a snapshot", func(f map[string][]byte) { f[snapshot] = f[journal] }, snapshot, 0, disk.ErrNotOurs},
		{"a snapshot without its end", func(f map[string][]byte) { f[snapshot] = f[snapshot][:disk.HeaderBytes] }, snapshot, disk.HeaderBytes, disk.ErrCutShort},
		{"an empty snapshot", func(f map[string][]byte) { f[snapshot] = nil }, snapshot, 0, disk.ErrNotOurs},
		{"a journal of another number", func(f map[string][]byte) { f[next] = f[journal] }, next, 16, disk.ErrRenamed},
		{"a journal that is missing", func(f map[string][]byte) { delete(f, journal) }, journal, -1, disk.ErrAbsent},
		{"a journal that is missing between others", func(f map[string][]byte) {
			f[disk.FileName(disk.JournalPrefix, 3)] = disk.JournalHeader(3, disk.Predecessor{Before: 2, Durable: 512, Ended: 512}, 0, 0)
			delete(f, next)
		}, next, -1, disk.ErrAbsent},
		{"a state that is none", func(f map[string][]byte) {
			f[journal] = append(begun(f), blockOf(1, disk.HeaderBytes, []byte{recLimit, byte(limits.TokenBucket), 0, 0, 0, 0, recState, 0, 1, 1, 'k', 'x'})...)
		}, journal, disk.HeaderBytes, keyspace.ErrState},
		{"a record of a newer version", func(f map[string][]byte) {
			f[journal] = append(begun(f), blockOf(1, disk.HeaderBytes, []byte{77})...)
		}, journal, disk.HeaderBytes, disk.ErrNewer},
		{"a record of a newer version in a snapshot", func(f map[string][]byte) {
			f[snapshot] = append(f[snapshot][:disk.HeaderBytes:disk.HeaderBytes], blockOf(1, disk.HeaderBytes, []byte{77})...)
		}, snapshot, disk.HeaderBytes, disk.ErrNewer},
		{"a policy of an algorithm of a newer version", func(f map[string][]byte) {
			f[journal] = append(begun(f), blockOf(1, disk.HeaderBytes,
				[]byte{recLimit, 99, 0, 1, 1, 1, recPolicy, byte(engine.SetPolicy), 0, 1, 'p', 0, 1, 0, 1, 'k', 0})...)
		}, journal, disk.HeaderBytes, disk.ErrNewer},
	} {
		files := written(t, true)
		c.change(files)
		_, _, _, err := recoverFiles(files, false)
		damage, ok := errors.AsType[*disk.DamageError](err)
		if !ok || damage.Name != c.where || damage.Offset != c.offset || !errors.Is(err, c.reason) {
			t.Errorf("%s: %v, want %s at %d: %v", c.name, err, c.where, c.offset, c.reason)
		}
		if _, _, _, err := recoverFiles(files, true); (err != nil) != errors.Is(c.reason, disk.ErrNewer) {
			t.Errorf("%s: repairing: %v", c.name, err)
		}
	}
}

// A power loss during the writes of a journal and its successor leaves a torn end, which is cut off with the data that
// follows it. With a record that the end was durable, its loss is damage.
func TestJournalAfterATornEnd(t *testing.T) {
	d, s := testdisk.Of(nil), store.New(store.Config{Shards: 1})
	defer s.Close()
	m, err := NewManager(Options{FS: d, Store: s, Clock: func() int64 { return someTime }, Log: quiet, Mode: Interval, JournalBytes: 1 << 30}, Recovered{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(key string) {
		s.Apply(someTime, []engine.Op{{Key: []byte(key), Limit: tokenLimits[0], Tokens: 1}}, make([]engine.Result, 1))
		if _, err := m.writeChanges(true); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		write(key)
		if key == "c" {
			continue
		}
		if err := m.rotate(); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := disk.FileName(disk.JournalPrefix, 0), disk.FileName(disk.JournalPrefix, 1), disk.FileName(disk.JournalPrefix, 2)
	unsynced := d.Contents()
	if err := m.journal.sync(); err != nil {
		t.Fatal(err)
	}
	write("e")
	for _, c := range []struct {
		what    string
		files   map[string][]byte
		damaged bool
	}{{"before a sync", unsynced, false}, {"after it", d.Contents(), true}} {
		files := maps.Clone(c.files)
		files[first] = files[first][:disk.HeaderBytes]
		torn, behind := map[string]bool{}, int64(-disk.HeaderBytes)
		for name := range files {
			if disk.IsManifest(name) {
				continue
			}
			behind += int64(len(files[name]))
			report, err := Inspect(testdisk.Of(files), name, func(Record) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			torn[name] = report.Torn
			if report.Whole() == (c.damaged && name == first) {
				t.Errorf("%s: inspecting %s: %+v", c.what, name, report)
			}
		}
		if !c.damaged && (torn[first] || !torn[second] || !torn[third]) || c.damaged && (torn[second] || torn[third]) {
			t.Errorf("%s: torn: %v", c.what, torn)
		}
		_, got, found, err := recoverFiles(files, false)
		damage, isDamage := errors.AsType[*disk.DamageError](err)
		switch {
		case isDamage != c.damaged:
			t.Errorf("%s: %v", c.what, err)
		case isDamage && (damage.Name != first || damage.Offset != disk.HeaderBytes):
			t.Errorf("%s: %v", c.what, err)
		case !isDamage && (len(got) > 0 || found.CutBytes != behind):
			t.Errorf("%s: recovered %v, cut %d bytes", c.what, got, found.CutBytes)
		}
	}
}

// blockOf is a whole block that holds records.
func blockOf(number uint64, offset int64, records []byte) []byte {
	return disk.SealBlock(append(make([]byte, disk.BlockHead+disk.PayloadHead), records...), number, offset)
}
