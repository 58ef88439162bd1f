package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// badLimit is one that nothing can be decided by.
var badLimit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: limits.MaxTokens + 1, Rate: limits.Rate{Tokens: 1, Period: second}}

func meterOf(limit limits.Limit, key string) keyspace.Change {
	state := make([]byte, 16)
	state[0], state[7] = 1, 0x7f // until long after someTime
	return keyspace.Change{Entry: keyspace.Entry{Key: []byte(key), Limit: limit, State: state}}
}

// refusedFile is a snapshot or a journal of one block: states of the keys a and z, one of the key between, and a
// policy.
func refusedFile(journal bool, between, policy limits.Limit) (name string, file []byte) {
	magic, prefix := disk.SnapshotMagic, disk.SnapshotPrefix
	if journal {
		magic, prefix = disk.JournalMagic, disk.JournalPrefix
	}
	var e encoder
	e.start(someTime)
	for _, c := range []keyspace.Change{meterOf(tokenLimits[0], "a"), meterOf(between, "between"), meterOf(tokenLimits[0], "z"),
		{Kind: keyspace.PolicyChanged, Op: &engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("{}"), Limit: policy}}}}} {
		e.change(c)
	}
	if !journal {
		e.end(3)
	}
	head := disk.Header(magic, 1)
	return disk.FileName(prefix, 1), append(head, disk.SealBlock(e.buf, 1, int64(len(head)))...)
}

// A record that cannot be carried out is not taken for the torn end of a journal: the server does not start, an
// inspection says so too and names it, and a repair leaves out this record alone.
func TestRecordsThatCannotBeApplied(t *testing.T) {
	for _, journal := range []bool{false, true} {
		for what, list := range map[string][2]limits.Limit{`key "between"`: {badLimit, tokenLimits[0]}, `"p"`: {tokenLimits[0], badLimit}} {
			name, file := refusedFile(journal, list[0], list[1])
			d := testdisk.Of(map[string][]byte{name: file})
			s := store.New(store.Config{Shards: 1})
			defer s.Close()
			_, err := Recover(d, s, someTime, false, quiet)
			damage, ok := errors.AsType[*disk.DamageError](err)
			if !ok || damage.Offset != disk.HeaderBytes || !strings.Contains(err.Error(), what) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			report, err := Inspect(d, name, func(Record) error { return nil })
			if err != nil || report.Whole() || report.RefusedCount != 1 || !strings.Contains(fmt.Sprint(report.Refused), what) || report.Torn {
				t.Errorf("%s, %s: inspected as %+v, %v", name, what, report, err)
			}
			again, log := store.New(store.Config{Shards: 1}), &bytes.Buffer{}
			defer again.Close()
			found, err := Recover(d, again, someTime, true, slog.New(slog.NewTextHandler(log, nil)))
			keys, policies := 3, 0
			if list[0] == badLimit {
				keys, policies = 2, 1
			}
			if err != nil || !found.Repaired || again.Len() != keys || len(again.PolicyNames()) != policies || found.CutBytes > 0 {
				t.Errorf("%s, %s: repaired to %d keys, %d policies, %+v, %v", name, what, again.Len(), len(again.PolicyNames()), found, err)
			}
			if !strings.Contains(log.String(), strings.ReplaceAll(what, `"`, `\"`)) {
				t.Errorf("the log does not name %s: %s", what, log)
			}
			if names, _ := d.List(); !strings.Contains(fmt.Sprint(names), name+damagedSuffix) {
				t.Errorf("no copy of %s: %v", name, names)
			}
		}
	}
}
