package fsm

import (
	"bytes"
	"fmt"
	"io"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// WriteBackup writes the entries that keep accepts of the states of several groups, and the policies of the first, in
// the format of package persistence. Tokens lent to nodes and groups count as spent. It returns the number of keys
// written.
func WriteBackup(to io.Writer, states []io.Reader, keep func(e *keyspace.Entry) bool) (keys int64, err error) {
	v := newLoanVoider()
	defer v.close()
	keys, _, err = persistence.CopyStates(to, states, func(now int64, e keyspace.Entry) (keyspace.Entry, bool, error) {
		if !keep(&e) {
			return e, false, nil
		}
		e, err := v.void(now, e)
		return e, true, err
	})
	return keys, err
}

// loanVoider charges the tokens that are lent to nodes and to groups, in the entries of a backup.
type loanVoider struct{ store *store.Store } // empty between calls

// newLoanVoider returns a loanVoider, to be closed.
func newLoanVoider() *loanVoider {
	return &loanVoider{store: store.New(store.Config{Shards: 1})}
}

// close frees its memory.
func (v *loanVoider) close() { v.store.Close() }

// void returns an entry without loans of nodes and groups, whose tokens count as spent at now.
func (v *loanVoider) void(now int64, e keyspace.Entry) (keyspace.Entry, error) {
	if !e.Limit.Algorithm.IsLent() {
		return e, nil // the entry has no loans
	}
	if err := v.store.Load(now, e); err != nil {
		return e, err
	}
	defer v.store.Unload(bytes.Clone(e.Key))
	var ops []engine.Op
	v.store.ScanLoans(0, func(key, holder []byte, _ int64) {
		if _, _, isNode := SplitHolder(holder); isNode || bytes.HasPrefix(holder, []byte(keyspace.GroupHolder)) {
			ops = append(ops, engine.Op{Verb: engine.Void, Key: key, Who: holder, Options: engine.Force})
		}
	})
	if len(ops) == 0 {
		return e, nil
	}
	results := make([]engine.Result, len(ops))
	v.store.Apply(now, ops, results)
	for i := range results {
		if results[i].Status != engine.OK {
			return e, fmt.Errorf("a loan of key %q cannot be voided: status %d", e.Key, results[i].Status)
		}
	}
	v.store.Scan(0, 1, now, func(changed keyspace.Entry) {
		e = keyspace.Entry{Key: bytes.Clone(changed.Key), Limit: changed.Limit, State: bytes.Clone(changed.State)}
	})
	return e, nil
}
