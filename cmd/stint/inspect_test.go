package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cmd/stint/inspect"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/persistence/entrylog"
	"github.com/stintdb/stint/server/config"
)

// stateDir is a directory with a snapshot and a journal of a server that is still running.
func stateDir(t *testing.T) (dir string) {
	t.Helper()
	cfg := config.Default()
	cfg.Dir, cfg.SnapshotEvery = t.TempDir(), 0
	kept := store.New(store.Config{Shards: 1})
	k, err := openLocal(t.Context(), cfg, kept, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.stop(); kept.Close() })
	apply := func(ops ...engine.Op) {
		results := make([]engine.Result, len(ops))
		kept.Apply(k.clock.Now(), ops, results)
		for i := range results {
			if results[i].Status != engine.OK {
				t.Fatalf("%+v: %+v", ops[i], results[i])
			}
		}
	}
	perHour := limits.Rate{Tokens: 1, Period: int64(time.Hour)}
	bucket := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: perHour}
	leases := limits.Limit{Algorithm: limits.Concurrency, Capacity: 3, Rate: limits.Rate{Period: int64(time.Hour)}}
	apply(engine.Op{Key: []byte("user:1"), Limit: bucket, Tokens: 2}, engine.Op{Key: []byte("gone"), Limit: bucket, Tokens: 1},
		engine.Op{Verb: engine.SetPolicy, Key: []byte("api"), Options: engine.Shadow, Parts: []engine.Op{{Key: []byte("u:{}"), Limit: bucket}}})
	if err := <-k.manager.Save(); err != nil {
		t.Fatal(err)
	}
	await := func(bytes int64) {
		testwait.Until(t, "the journal is written", func() bool {
			info, err := os.Stat(filepath.Join(cfg.Dir, aJournal))
			return err == nil && info.Size() >= bytes
		})
	}
	await(256) // the block that records that the header is durable
	apply(engine.Op{Key: []byte("gone"), Limit: bucket, Verb: engine.Delete}, engine.Op{Key: []byte("job\x00"), Limit: leases, Tokens: 1, Who: []byte("worker 1")},
		engine.Op{Key: []byte("d"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, Capacity: 9}, Tokens: 9})
	await(384)
	return cfg.Dir
}

const (
	aSnapshot = "snapshot-00000000000000000001.stint"
	aJournal  = "journal-00000000000000000001.stint"
)

func TestInspectRunningServer(t *testing.T) {
	dir := stateDir(t)
	code, stdout, stderr := play(t, "inspect", dir)
	times := regexp.MustCompile(`from \S+ to \S+`)
	const want = aSnapshot + ": whole; number 1, 256 bytes in 1 block: 2 keys, 1 change of policies, from … to …\n" +
		aJournal + ": whole; number 1, 384 bytes in 2 blocks: 2 states, 1 deletion, from … to …\n"
	if got := times.ReplaceAllString(stdout, "from … to …"); code != exitOK || got != want || stderr != "" {
		t.Errorf("exit %d, %s\ngot\n%swant\n%s", code, stderr, got, want)
	}
	code, stdout, stderr = play(t, "inspect", filepath.Join(dir, aJournal))
	if code != exitOK || !strings.HasPrefix(stdout, filepath.Join(dir, aJournal)+": whole; number 1, ") || stderr != "" {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}

func TestInspectDump(t *testing.T) {
	dir := stateDir(t)
	code, stdout, stderr := play(t, "inspect", "--dump", dir)
	if code != exitOK || strings.Count(stderr, ": whole; ") != 2 {
		t.Errorf("exit %d, %s", code, stderr)
	}
	for line := range strings.Lines(stdout) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a line of JSON: %s", line)
		}
	}
	got := regexp.MustCompile(`"time":"[^"]+"`).ReplaceAllString(stdout, `"time":"…"`)
	got = regexp.MustCompile(`(_ms":)\d+`).ReplaceAllString(got, "${1}0")
	for _, want := range []string{
		`{"file":"` + aSnapshot + `","offset":128,"time":"…","type":"policy-set","name":"api","shadow":true,"limits":[{"algorithm":"token-bucket","key":"u:{}","params":{"capacity":5,"rate":"1/1h"}}]}`,
		`{"file":"` + aSnapshot + `","offset":128,"time":"…","type":"state","key":"user:1","algorithm":"token-bucket","params":{"capacity":5,"rate":"1/1h"},"limit":5,"taken":2,"remaining":3,"reset_ms":0}`,
		`{"file":"` + aJournal + `","offset":256,"time":"…","type":"deleted","key":"gone"}`,
		`{"file":"` + aJournal + `","offset":256,"time":"…","type":"state","key":"d","algorithm":"fixed-window","params":{"limit":9,"window":"@month"},"limit":9,"taken":9,"remaining":0,"reset_ms":0}`,
		`{"file":"` + aJournal + `","offset":256,"time":"…","type":"state","key_base64":"am9iAA==","algorithm":"concurrency","params":{"limit":3,"ttl":"1h"},"limit":3,"taken":1,"remaining":2,"reset_ms":0,"leases":[{"holder":"worker 1","remaining_ms":0}]}`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line\n%s\nin\n%s", want, got)
		}
	}
}

// For damage to any byte, and a cut at any place, every dumped record was in the file, and no file that has lost a
// record is reported as whole, except at the end of a journal.
func TestInspectDamaged(t *testing.T) {
	dir := stateDir(t)
	for _, name := range []string{aSnapshot, aJournal} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		dump := func(data []byte) (code int, stdout, stderr string) {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return play(t, "inspect", "--dump", file)
		}
		_, want, _ := dump(whole)
		check := func(what string, at int, data []byte) {
			code, got, stderr := dump(data)
			for line := range strings.Lines(got) {
				if !strings.Contains(want, line) {
					t.Errorf("%s, %s at %d: a record that was never written: %s", name, what, at, line)
				}
			}
			torn := strings.Contains(stderr, "being written, or torn")
			damaged := strings.Contains(stderr, "DAMAGED at offset ")
			if name == aJournal && what == "cut off" { // a cut between blocks, possible in a crash, leaves no trace
				torn = true
			}
			if damaged != (code == exitFailed) || got != want && !damaged && (name == aSnapshot || !torn) {
				t.Errorf("%s, %s at %d: exit %d with %d of %d records\n%s", name, what, at, code, strings.Count(got, "\n"), strings.Count(want, "\n"), stderr)
			}
		}
		for at := 0; at < len(whole); at += testsize.Pick(5, 1) {
			data := append([]byte{}, whole...)
			data[at] ^= 1 << (at % 8)
			check("a bit flipped", at, data)
			check("cut off", at, whole[:at])
		}
	}
}

// A directory in which a journal is missing is not whole, though every file is.
func TestInspectMissing(t *testing.T) {
	dir := stateDir(t)
	copied := t.TempDir()
	data, err := os.ReadFile(filepath.Join(dir, aJournal))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, aJournal), data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := play(t, "inspect", copied)
	if code != exitFailed || !strings.Contains(stdout, "is missing: "+aJournal+" goes on from it\n") || !strings.Contains(stdout, "manifest.stint is missing: ") || stderr == "" {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}

// The report names an entry at which a node stops, and the remedy.
func TestInspectNamesAnEntryThatCannotBeApplied(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, raftstore.IdentityFile), []byte(`{"node":"a","incarnation":"1","crc32c":"091d98ba"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, raftstore.LogDir), 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := entrylog.Open(disk.Dir(filepath.Join(dir, raftstore.LogDir)), true)
	if err != nil {
		t.Fatal(err)
	}
	entry := make([]byte, 21+26)                          // Raft's head, a command of term 0, and our own
	entry[21], entry[22] = 1, 1                           // decisions
	entry = append(entry, 2, 8, 0, 0, 2, 0, 0, 1, 1, 'k') // one acquire, of a bucket of no capacity
	if err := log.Append([]entrylog.Entry{{Index: 7, Data: entry}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	if err := inspect.Run(t.Context(), []string{dir}, &out, &errOut); err == nil || !strings.Contains(out.String(), "CANNOT BE APPLIED: entry 7: ") || !strings.Contains(out.String(), "newest version") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
