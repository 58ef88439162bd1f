package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/persistence"
)

// A reservation is dumped with the tokens that its limits are charged.
func TestInspectDumpsReservations(t *testing.T) {
	var out strings.Builder
	d := newDumper(&out)
	kept := newStore()
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
