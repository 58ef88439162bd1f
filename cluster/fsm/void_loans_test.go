package fsm

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
)

// Loans of clients stay, because clients go on spending them.
func TestBackupKeepsLoansOfClients(t *testing.T) {
	kept := store.New(store.Config{Shards: 1})
	defer kept.Close()
	const now = int64(1e18)
	for i, holder := range []string{"node/a#1/2", "client", "node/b#1/3", "group/3"} {
		loan := engine.Loan{Number: uint64(i + 1)}
		results := make([]engine.Result, 1)
		kept.Apply(now, []engine.Op{{Verb: engine.Lend, Key: []byte("k"), Limit: acquire("k", 1000, 1).Limit, Tokens: 10,
			Who: []byte(holder), Loan: &loan}}, results)
		if results[0].Granted != 10 {
			t.Fatalf("%+v", results[0])
		}
	}
	v := newLoanVoider()
	defer v.close()
	after := store.New(store.Config{Shards: 1})
	defer after.Close()
	kept.Scan(0, 1, now, func(e keyspace.Entry) {
		changed, err := v.void(now, e)
		if err == nil {
			err = after.Load(now, changed)
		}
		if err != nil {
			t.Error(err)
		}
	})
	results := make([]engine.Result, 1)
	after.Apply(now, []engine.Op{{Verb: engine.Look, Key: []byte("k")}}, results)
	if results[0].Lent != 10 || results[0].Remaining != 960 || v.store.Len() != 0 {
		t.Errorf("%+v, %d left behind", results[0], v.store.Len())
	}
}
