package inspect

import (
	"bytes"
	"strings"
	"testing"
	"time"

	_ "github.com/stintdb/stint/server/command/all" // the table
	datacommands "github.com/stintdb/stint/server/command/data"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// A reservation is dumped with the tokens that its limits are charged.
func TestInspectDumpsReservations(t *testing.T) {
	var out strings.Builder
	d := newDumper(&out)
	kept := store.New(store.Config{Shards: 1, Replicated: true, Commands: &datacommands.Executor{}})
	defer kept.Close()
	const now = int64(1_700_000_000 * time.Second)
	bucket := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}
	leases := limits.Limit{Algorithm: limits.Concurrency, Capacity: 3, Rate: limits.Rate{Period: int64(time.Hour)}}
	request := engine.Op{Verb: engine.AcquireAll, Tokens: 2, Parts: []engine.Op{{Key: []byte("a"), Limit: bucket, Tokens: 2}, {Key: []byte("b"), Limit: leases, Who: []byte("w"), Tokens: 2}}}
	ops := []engine.Op{{Verb: engine.Reserve, Key: []byte("id"), MaxWait: int64(time.Minute), Parts: []engine.Op{request}}, {Verb: engine.Settle, Key: []byte("id"), Tokens: 4}}
	for i, charged := range []string{
		`"settled":false,"ends":"2023-11-14T22:14:20Z","charged":[{"algorithm":"token-bucket","key":"a","params":{"capacity":5,"rate":"1/1h"},"tokens":2},{"algorithm":"concurrency","key":"b","params":{"limit":3,"ttl":"1h"},"holder":"w","tokens":1}]}`,
		`"settled":true,"ends":"2023-11-14T22:14:20Z","charged":[{"algorithm":"token-bucket","key":"a","params":{"capacity":5,"rate":"1/1h"},"tokens":4},{"algorithm":"concurrency","key":"b","params":{"limit":3,"ttl":"1h"},"holder":"w","tokens":0}]}`,
	} {
		out.Reset()
		kept.Apply(now, ops[i:i+1], make([]engine.Result, 1))
		kept.Scan(0, 100, now, func(e keyspace.Entry) {
			if string(e.Key) == "id" {
				e.State = bytes.TrimRight(e.State, "\x00")
				if err := d.record("f", persistence.Record{Change: keyspace.Change{Kind: keyspace.Changed, Entry: e}, Time: now}); err != nil {
					t.Error(err)
				}
			}
		})
		_ = d.lines.Flush()
		want := `{"file":"f","offset":0,"time":"2023-11-14T22:13:20Z","type":"state","key":"id","algorithm":"reservation","params":{"for":"1m"},"granted":2,` + charged
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("dumped as\n%s, want\n%s", got, want)
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
	kept := store.New(store.Config{Shards: 1, Replicated: true, Commands: &datacommands.Executor{}})
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
