package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// What others use of the keys of a store.

// SetQuotas is [keyspace.Keyspace.SetQuotas].
func (s *Store) SetQuotas(q *admission.Quotas) { s.keys.SetQuotas(q) }

// QuotaCounts is [keyspace.Keyspace.QuotaCounts].
func (s *Store) QuotaCounts(visit func(q admission.Quota, keys int64)) { s.keys.QuotaCounts(visit) }

// Pressure is [keyspace.Keyspace.Pressure].
func (s *Store) Pressure(rules admission.Rules, full bool) []engine.Op {
	return s.keys.Pressure(rules, full)
}

// NewKeyCounts is [keyspace.Keyspace.NewKeyCounts].
func (s *Store) NewKeyCounts() admission.NewKeyCounts { return s.keys.NewKeyCounts() }

// SetRules is [keyspace.Keyspace.SetRules].
func (s *Store) SetRules(r admission.Rules) { s.keys.SetRules(r) }

// Track is [keyspace.Keyspace.Track].
func (s *Store) Track(on bool) { s.keys.Track(on) }

// Observe is [keyspace.Keyspace.Observe].
func (s *Store) Observe(on bool) { s.keys.Observe(on) }

// Replaced is [keyspace.Keyspace.Replaced].
func (s *Store) Replaced() { s.keys.Replaced() }

// ForgetJournaled is [keyspace.ForgetJournaled].
func ForgetJournaled(s *Store) { keyspace.ForgetJournaled(&s.keys) }

// Check is [keyspace.Keyspace.Check].
func (s *Store) Check() error { return s.keys.Check() }

// DatabaseLen is [keyspace.Keyspace.DatabaseLen].
func (s *Store) DatabaseLen(number uint8) int { return s.keys.DatabaseLen(number) }

// Dump is [keyspace.Keyspace.Dump].
func (s *Store) Dump(now int64, visit func(keyspace.Entry)) { s.keys.Dump(now, visit) }

// Close is [keyspace.Keyspace.Close].
func (s *Store) Close() { s.keys.Close() }

// IsNew is [keyspace.Keyspace.IsNew].
func (s *Store) IsNew(now int64, key []byte) bool { return s.keys.IsNew(now, key) }

// AdmitsNew is [keyspace.Keyspace.AdmitsNew].
func (s *Store) AdmitsNew(now int64, key []byte) bool { return s.keys.AdmitsNew(now, key) }

// TakeAllowance is [keyspace.Keyspace.TakeAllowance] with the keys of another store.
func (s *Store) TakeAllowance(
	taken *Store, hash uint64, logTime, now, priorAt int64, op *engine.Op, res *engine.Result,
) (done bool) {
	if done = s.keys.TakeAllowance(&taken.keys, hash, logTime, now, priorAt, op, res); done && taken.trace != nil {
		taken.trace(now, []engine.Op{*op}, []engine.Result{*res})
	}
	return done
}

// Taken is [keyspace.Keyspace.Taken].
func (s *Store) Taken(now int64, key []byte) (carry engine.Op, found bool) {
	return s.keys.Taken(now, key)
}

// ScanLoans is [keyspace.Keyspace.ScanLoans].
func (s *Store) ScanLoans(shard int, visit func(key, holder []byte, tokens int64)) {
	s.keys.ScanLoans(shard, visit)
}

// TopLent is [keyspace.Keyspace.TopLent].
func (s *Store) TopLent(now int64, n int) (top []keyspace.LentKey) { return s.keys.TopLent(now, n) }

// Load is [keyspace.Keyspace.Load].
func (s *Store) Load(now int64, e keyspace.Entry) error { return s.keys.Load(now, e) }

// LoadAll is [keyspace.Keyspace.LoadAll].
func (s *Store) LoadAll(now int64, entries []keyspace.Entry) error {
	return s.keys.LoadAll(now, entries)
}

// Unload is [keyspace.Keyspace.Unload].
func (s *Store) Unload(key []byte) { s.keys.Unload(key) }

// Bytes is [keyspace.Keyspace.Bytes].
func (s *Store) Bytes() int64 { return s.keys.Bytes() }

// ReservedBytes is [keyspace.Keyspace.ReservedBytes].
func (s *Store) ReservedBytes() int64 { return s.keys.ReservedBytes() }

// SetMaxBytes is [keyspace.Keyspace.SetMaxBytes].
func (s *Store) SetMaxBytes(bytes int64) { s.keys.SetMaxBytes(bytes) }

// IsReplicated is [keyspace.Keyspace.IsReplicated].
func (s *Store) IsReplicated() bool { return s.keys.IsReplicated() }

// SnapshotBytes is [keyspace.Keyspace.SnapshotBytes].
func (s *Store) SnapshotBytes() int64 { return s.keys.SnapshotBytes() }

// LentKeys is [keyspace.Keyspace.LentKeys].
func (s *Store) LentKeys() int64 { return s.keys.LentKeys() }

// LastDatabase is [keyspace.Keyspace.LastDatabase].
func (s *Store) LastDatabase() int { return s.keys.LastDatabase() }

// Purses is [keyspace.Keyspace.Purses].
func (s *Store) Purses(visit func(key []byte, limit limits.Limit, t purse.Purse)) {
	s.keys.Purses(visit)
}

// ReservedFromPurses passes on the ids of a store's reservations that have taken tokens from purses. visit must not use the
// store.
func ReservedFromPurses(s *Store, now int64, visit func(id []byte)) {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = s.keys.Scan(cursor, 1024, now, func(e keyspace.Entry) {
			if view, err := e.Reserved(); err == nil && view.IsFromPurses() {
				visit(e.Key)
			}
		})
	}
}

// Random is [keyspace.Keyspace.Random].
func (s *Store) Random(tries int, now int64, intN func(int) int, visit func(keyspace.Entry) (more bool)) {
	s.keys.Random(tries, now, intN, visit)
}

// Reserve is [keyspace.Keyspace.Reserve].
func (s *Store) Reserve(entries, bytes int) { s.keys.Reserve(entries, bytes) }

// Rewind is [keyspace.Keyspace.Rewind].
func (s *Store) Rewind(from, to int64) { s.keys.Rewind(from, to) }

// Scan is [keyspace.Keyspace.Scan].
func (s *Store) Scan(cursor uint64, count int, now int64, visit func(keyspace.Entry)) (next uint64) {
	return s.keys.Scan(cursor, count, now, visit)
}

// ScanWhile is [keyspace.Keyspace.ScanWhile].
func (s *Store) ScanWhile(cursor uint64, count int, now int64, visit func(keyspace.Entry) (more bool)) (next uint64) {
	return s.keys.ScanWhile(cursor, count, now, visit)
}

// Sweep is [keyspace.Keyspace.Sweep].
func (s *Store) Sweep(now int64, count int) (looked, dropped int) { return s.keys.Sweep(now, count) }

// MayBeLarge is [keyspace.Keyspace.MayBeLarge]. With seeks, any key may be where large values are not put into blocks.
func (s *Store) MayBeLarge(op *engine.Op, seeks bool) bool {
	return seeks && !s.transactions.KeepsLarge() || s.keys.MayBeLarge(op, seeks)
}

// Len is [keyspace.Keyspace.Len].
func (s *Store) Len() int { return s.keys.Len() }

// IdleBytes is [keyspace.Keyspace.IdleBytes].
func (s *Store) IdleBytes() (bytes int64) { return s.keys.IdleBytes() }

// Shards is [keyspace.Keyspace.Shards].
func (s *Store) Shards() int { return s.keys.Shards() }

// Hash is [keyspace.Keyspace.Hash].
func (s *Store) Hash(key []byte) uint64 { return s.keys.Hash(key) }

// PurseCount is [keyspace.Keyspace.PurseCount].
func (s *Store) PurseCount() int64 { return s.keys.PurseCount() }

// AwayPurseCount is [keyspace.Keyspace.AwayPurseCount].
func (s *Store) AwayPurseCount() int64 { return s.keys.AwayPurseCount() }

// Follow is [admission.Admission.Follow] with the restrictions of another store.
func (s *Store) Follow(other *Store) []engine.Op {
	return s.keys.Admission.Follow(&other.keys.Admission)
}
