package main

import (
	"bytes"
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
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/persistence"
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
	k, err := openLocal(cfg, kept, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
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

// A policy of an earlier version, in which {name} is text, is dumped so that it can be told from one with named fields.
func TestInspectDumpsNamedFields(t *testing.T) {
	for options, want := range map[engine.Option]string{
		0:                  `"type":"policy-set","name":"p","limits":[{"algorithm":"token-bucket","key":"{a}","params":{"capacity":5,"rate":"1/1s"}}]}`,
		engine.NamedFields: `"type":"policy-set","name":"p","named_fields":true,"limits":[{"algorithm":"token-bucket","key":"{a}","params":{"capacity":5,"rate":"1/1s"}}]}`,
	} {
		var out strings.Builder
		d := newDumper(&out)
		limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: int64(time.Second)}}
		op := engine.Op{Verb: engine.SetPolicy, Options: options, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("{a}"), Limit: limit}}}
		err := d.record("f", persistence.Record{Change: keyspace.Change{Kind: keyspace.PolicyChanged, Op: &op}})
		_ = d.lines.Flush()
		if got := strings.TrimSpace(out.String()); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%v, dumped as\n%s, want\n%s", err, got, want)
		}
	}
}

// Data is dumped as text where it can be printed, and with the time at which it expires.
func TestInspectDumpsData(t *testing.T) {
	var out strings.Builder
	d := newDumper(&out)
	kept := newStore()
	defer kept.Close()
	const now, line = int64(1_700_000_000 * time.Second), `{"file":"f","offset":0,"time":"2023-11-14T22:13:20Z","type":"state",`
	for _, c := range []struct{ command, want string }{
		{"SET a v", `"key":"a","algorithm":"string","bytes":1,"value":"v"}`},
		{"SET a \x1b[2J", `"key":"a","algorithm":"string","bytes":4,"value_base64":"G1sySg=="}`},
		{"SET a v EX 60", `"key":"a","algorithm":"string","bytes":1,"value":"v","expires":"2023-11-14T22:14:20Z"}`},
		{"INCRBYFLOAT b\n 1.5", `"key_base64":"Ygo=","algorithm":"string","bytes":3,"value":"1.5"}`},
	} {
		out.Reset()
		args := bytes.Split([]byte(c.command), []byte(" "))
		ops := []engine.Op{{Verb: engine.Command, Args: args, KeyFrom: 1, KeyCount: 1}}
		kept.Apply(now, ops, make([]engine.Result, 1))
		kept.Scan(0, 100, now, func(e keyspace.Entry) {
			if string(e.Key) == string(args[1]) {
				e.State = bytes.TrimRight(e.State, "\x00")
				if err := d.record("f", persistence.Record{Change: keyspace.Change{Kind: keyspace.Changed, Entry: e}, Time: now}); err != nil {
					t.Error(err)
				}
			}
		})
		_ = d.lines.Flush()
		if got := strings.TrimSuffix(out.String(), "\n"); got != line+c.want {
			t.Errorf("%q is dumped as\n%s, want\n%s", c.command, got, line+c.want)
		}
	}
}

// Operations that are kept beside the entries have separate types.
func TestInspectDumpsOperations(t *testing.T) {
	var out strings.Builder
	d := newDumper(&out)
	for _, c := range []struct {
		op   engine.Op
		want string
	}{
		{engine.Op{Verb: engine.KeepScript, Who: []byte("return 1")}, `"type":"script-kept","name":"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"}`},
		{engine.Op{Verb: engine.DropScripts}, `"type":"scripts-dropped","name":""}`},
		{engine.Op{Verb: engine.DropPolicy, Key: []byte("api")}, `"type":"policy-dropped","name":"api"}`},
		{engine.Op{Verb: engine.Restrict, Key: []byte("a:"), NewKeys: engine.DenyNew}, `"type":"new-keys","name":"a:"}`},
	} {
		out.Reset()
		if err := d.record("f", persistence.Record{Change: keyspace.Change{Kind: keyspace.PolicyChanged, Op: &c.op}}); err != nil {
			t.Error(err)
		}
		_ = d.lines.Flush()
		if got := strings.TrimSpace(out.String()); !strings.HasSuffix(got, c.want) {
			t.Errorf("%v is dumped as\n%s, want\n%s", c.op.Verb, got, c.want)
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
	p := &process{stdout: &out, stderr: &errOut}
	if err := p.inspect(t.Context(), []string{dir}); err == nil || !strings.Contains(out.String(), "CANNOT BE APPLIED: entry 7: ") || !strings.Contains(out.String(), "newest version") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// Lent tokens are not among those taken.
func TestInspectDumpsLoans(t *testing.T) {
	var out strings.Builder
	d := newDumper(&out)
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	limit := limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, Capacity: 90}
	now := time.Now().UnixNano()
	s.Apply(now, []engine.Op{{Key: []byte("k"), Limit: limit, Tokens: 10},
		{Verb: engine.Lend, Key: []byte("k"), Who: []byte("a"), Limit: limit, Tokens: 5, Loan: &engine.Loan{Number: 1}}}, make([]engine.Result, 2))
	s.Scan(0, 10, now, func(e keyspace.Entry) {
		if err := d.record("f", persistence.Record{Time: now, Change: keyspace.Change{Entry: e}}); err != nil {
			t.Error(err)
		}
	})
	_ = d.lines.Flush()
	if want := `"limit":90,"taken":10,"lent":5,"remaining":75,`; !strings.Contains(out.String(), want) {
		t.Errorf("no %s in %s", want, out.String())
	}
}
