package metrics

import "github.com/stintdb/stint/internal/persistencestatus"

// kept makes the value of a metric about state on disk.
var kept = of(func(r *Snapshot) *persistencestatus.Status { return r.Persistence })

const withDir = "with --dir, not in a cluster"

var persistenceRows = []Row{{
	Name: "stint_persistence_ok", Kind: Gauge, When: withDir, Help: "1 if decisions are written to disk, 0 while writes fail.",
	values: kept(func(k *persistencestatus.Status) float64 { return zeroOrOne(k.Err == nil) }),
}, {
	Name: "stint_journal_bytes", Kind: Gauge, When: withDir, Help: "Size of the journal since the last snapshot.",
	values: kept(func(k *persistencestatus.Status) float64 { return float64(k.JournalBytes) }),
}, {
	Name: "stint_journal_written_bytes_total", Kind: Counter, When: withDir, Help: "Bytes written to journals.",
	values: kept(func(k *persistencestatus.Status) float64 { return float64(k.Journaled) }),
}, {
	Name: "stint_journal_flushed_timestamp_seconds", Kind: Gauge, When: withDir, Help: "Unix time before which all decisions have been written, at least to the kernel.",
	values: kept(func(k *persistencestatus.Status) float64 { return unixSeconds(k.FlushedUntil) }),
}, {
	Name: "stint_snapshot_ok", Kind: Gauge, When: withDir, Help: "1 unless the last snapshot failed.",
	values: kept(func(k *persistencestatus.Status) float64 { return zeroOrOne(k.LastSaveErr == nil) }),
}, {
	Name: "stint_snapshot_running", Kind: Gauge, When: withDir, Help: "1 while a snapshot is being written.",
	values: kept(func(k *persistencestatus.Status) float64 { return zeroOrOne(k.Saving) }),
}, {
	Name: "stint_snapshot_bytes", Kind: Gauge, When: withDir, Help: "Size of the last snapshot.",
	values: kept(func(k *persistencestatus.Status) float64 { return float64(k.SnapshotBytes) }),
}, {
	Name: "stint_snapshot_keys", Kind: Gauge, When: withDir, Help: "Keys in the last snapshot.",
	values: kept(func(k *persistencestatus.Status) float64 { return float64(k.SnapshotKeys) }),
}, {
	Name: "stint_snapshot_timestamp_seconds", Kind: Gauge, When: withDir, Help: "Unix time when the last snapshot was completed; 0 if there was none.",
	values: kept(func(k *persistencestatus.Status) float64 { return unixSeconds(k.LastSave) }),
}}

// unixSeconds converts nanoseconds since the Unix epoch, in whole microseconds.
func unixSeconds(nanos int64) float64 { return float64(nanos/1000) / 1e6 }
