package metrics

// kept is the value of a metric of servers that keep state on disk.
func kept(value func(k *Keeper) float64) func(*Reading, func(float64, ...string)) {
	return func(r *Reading, emit func(float64, ...string)) {
		if r.Keeper != nil {
			emit(value(r.Keeper))
		}
	}
}

const withDir = "with --dir, not in a cluster"

var persistenceRows = []Row{{
	Name: "stint_persistence_ok", Kind: Gauge, When: withDir, Help: "1 if what is decided is being kept on disk, 0 while the disk does not take it.",
	values: kept(func(k *Keeper) float64 { return zeroOrOne(k.OK) }),
}, {
	Name: "stint_journal_bytes", Kind: Gauge, When: withDir, Help: "Size of the journal since the last snapshot.",
	values: kept(func(k *Keeper) float64 { return float64(k.JournalBytes) }),
}, {
	Name: "stint_journal_written_bytes_total", Kind: Counter, When: withDir, Help: "Bytes written to journals.",
	values: kept(func(k *Keeper) float64 { return float64(k.JournalWritten) }),
}, {
	Name: "stint_journal_flushed_timestamp_seconds", Kind: Gauge, When: withDir, Help: "All that was decided before this Unix time is in the kernel's hands at least.",
	values: kept(func(k *Keeper) float64 { return float64(k.FlushedUntil.UnixMicro()) / 1e6 }),
}, {
	Name: "stint_snapshot_ok", Kind: Gauge, When: withDir, Help: "1 unless the last snapshot failed.",
	values: kept(func(k *Keeper) float64 { return zeroOrOne(k.LastSaveOK) }),
}, {
	Name: "stint_snapshot_running", Kind: Gauge, When: withDir, Help: "1 while a snapshot is being written.",
	values: kept(func(k *Keeper) float64 { return zeroOrOne(k.Saving) }),
}, {
	Name: "stint_snapshot_bytes", Kind: Gauge, When: withDir, Help: "Size of the last snapshot.",
	values: kept(func(k *Keeper) float64 { return float64(k.SnapshotBytes) }),
}, {
	Name: "stint_snapshot_keys", Kind: Gauge, When: withDir, Help: "Keys in the last snapshot.",
	values: kept(func(k *Keeper) float64 { return float64(k.SnapshotKeys) }),
}, {
	Name: "stint_snapshot_timestamp_seconds", Kind: Gauge, When: withDir, Help: "Unix time at which the last snapshot was complete, 0 if there was none.",
	values: kept(func(k *Keeper) float64 {
		if k.LastSave.IsZero() {
			return 0
		}
		return float64(k.LastSave.UnixMicro()) / 1e6
	}),
}}
