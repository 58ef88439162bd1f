package persistence

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// Recovered describes the files found on disk.
type Recovered struct {
	Snapshot string // the file, "" if there was none
	Journals int
	Bytes    int64          // of the journals
	Keys     int64          // states read; a key that changed often counts each time
	Time     int64          // the latest time of any state
	CutBytes int64          // of a journal's end, lost in a crash
	Repaired bool           // damaged data was left out
	manifest *disk.Manifest // nil if there was none
	isMixed  bool           // some files are without the manifest's identity
	newest   uint64         // number of the snapshot, and 1; 0 for none
	next     uint64
	last     disk.Predecessor // for the next journal: the last one that was read, all of which is durable
}

// MaxAhead is how far the time of a state may be ahead of the machine's clock: one of them is wrong beyond that.
const MaxAhead = 10 * time.Minute

// recovery reads a directory into a store.
type recovery struct {
	fs       disk.FS
	journals journalChain
	ends     map[uint64]int64 // of the journals that were read
	store    *store.Store
	now      int64
	repair   bool
	log      *slog.Logger
	found    Recovered
	dec      decoder
	rest     func(took time.Duration) // after each block of a snapshot; nil for none

	states int64 // of the snapshot

	reading string // the file of the block that is being read, and the block's offset
	offset  int64
	copied  string // the last file that was copied because a part of it was left out
}

// Recover reads the newest snapshot, and the journals begun since, into an empty store. now is the time of the wall
// clock: entries expired by then are left out. A journal's end that a crash has torn is cut off with a warning. Any
// other damage is a [disk.DamageError], unless repair is set: then a copy of the damaged file is kept and its whole
// part is read.
func Recover(fs disk.FS, keys *store.Store, now int64, repair bool, log *slog.Logger) (Recovered, error) {
	r := &recovery{fs: fs, store: keys, now: now, repair: repair, log: log, ends: map[uint64]int64{}}
	held, err := contentsOf(fs)
	if err != nil {
		return r.found, err
	}
	if err := r.missing(held); err != nil {
		return r.found, err
	}
	if r.found.Repaired { // without the files that were left out
		names, err := fs.List()
		if err != nil {
			return r.found, err
		}
		held.snapshots, held.journals = disk.Numbers(names, disk.SnapshotPrefix), disk.Numbers(names, disk.JournalPrefix)
	}
	snapshots := held.snapshots
	r.journals = held.chain()
	r.found.manifest, r.found.newest = held.manifest, held.newest()
	first := uint64(0)
	if len(snapshots) > 0 {
		first = snapshots[len(snapshots)-1]
		r.found.Snapshot = disk.FileName(disk.SnapshotPrefix, first)
		if err := r.snapshot(r.found.Snapshot); err != nil {
			return r.found, err
		}
		r.found.next = first + 1
	}
	for _, number := range r.journals.numbers {
		r.found.next = max(r.found.next, number+1)
		if number < first {
			continue // the snapshot holds it; a crash came before it was removed
		}
		if err := r.journal(number); err != nil {
			return r.found, err
		}
	}
	r.found.isMixed = r.found.Repaired || held.isMixed()
	return r.found, nil
}

func (r *recovery) snapshot(name string) error {
	in, err := r.fs.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	blocks, err := disk.NewBlockReader(name, in, disk.SnapshotMagic)
	if err == nil {
		err = r.loadAll(blocks)
	}
	if err == nil {
		return nil
	}
	damage, ok := errors.AsType[*disk.DamageError](err)
	if !ok || errors.Is(err, disk.ErrNewer) {
		return err
	}
	tail, err := disk.ReadFrom(r.fs, name, damage.Offset)
	if err != nil {
		return err
	}
	return r.orRepair(blocks, damage, tail)
}

// loadAll reads every block of a snapshot.
func (r *recovery) loadAll(blocks *disk.BlockReader) error {
	if keys := min(blocks.Keys, maxReserve); keys > 0 {
		r.store.Reserve(int(keys), int(keys)*reserveBytes)
	}
	loader := newLoader(r)
	var err error
	for err == nil {
		var payload []byte
		offset := blocks.Offset
		if payload, err = blocks.Next(); err == nil {
			loader.add(blocks.Name, offset, payload)
		}
	}
	loadErr := loader.wait()
	switch {
	case loadErr != nil:
		return loadErr
	case !errors.Is(err, io.EOF):
		return err
	case loader.ends < 0:
		return blocks.Damage(disk.ErrCutShort)
	case loader.ends != r.states:
		return blocks.Damage(fmt.Errorf("%d of %d states: %w", r.states, loader.ends, disk.ErrDamaged))
	}
	return nil
}

// Memory is reserved for at most maxReserve keys, with reserveBytes each, before they are read. Unused memory is given
// back.
const (
	maxReserve   = 100_000_000
	reserveBytes = 40
)

// orRepair skips damage if repair is set: it keeps a copy of the file, and reads the whole blocks of the tail that
// begins at the damage.
func (r *recovery) orRepair(blocks *disk.BlockReader, damage *disk.DamageError, tail []byte) error {
	if !r.repair {
		return damage
	}
	r.found.Repaired = true
	r.log.Warn("left out damaged data", "file", blocks.Name, "offset", damage.Offset, "reason", damage.Err, "copy", blocks.Name+damagedSuffix)
	if err := disk.Copy(r.fs, blocks.Name, blocks.Name+damagedSuffix); err != nil {
		return err
	}
	var noRoom error
	disk.WholeBlocks(tail, blocks.Number, damage.Offset, func(offset int64, payload []byte) {
		if err := r.block(blocks.Name, offset, payload); errors.Is(err, keyspace.ErrNoRoom) {
			noRoom = err
		} else if err != nil {
			r.log.Warn("left out a block", "file", blocks.Name, "offset", offset, "reason", err)
		}
	})
	return noRoom
}

const damagedSuffix = ".damaged"

// payload applies the payload that blocks read last.
func (r *recovery) payload(blocks *disk.BlockReader, payload []byte) error {
	return r.block(blocks.Name, blocks.Offset-disk.AlignBlock(disk.BlockHead+int64(len(payload))), payload)
}

func (r *recovery) block(name string, offset int64, payload []byte) error {
	now, _, _ := disk.PayloadHeader(payload)
	r.found.Time = max(r.found.Time, now)
	r.reading, r.offset = name, offset
	if err := r.dec.decode(payload, r); err != nil {
		return blockError(name, offset, err)
	}
	return nil
}

func blockError(name string, offset int64, err error) error {
	if errors.Is(err, keyspace.ErrNoRoom) {
		return fmt.Errorf("%s holds %w: start with a larger --max-memory", name, err)
	}
	return &disk.DamageError{Name: name, Offset: offset, Err: err}
}

// change implements handler.
func (r *recovery) change(c keyspace.Change) error {
	err := r.carryOut(c)
	if refused, ok := errors.AsType[*RecordError](err); ok && r.repair {
		return r.skipRecord(r.reading, r.offset, refused)
	}
	return err
}

// skipRecord continues without a record that cannot be applied, and keeps a copy of its file.
func (r *recovery) skipRecord(name string, offset int64, refused *RecordError) error {
	r.found.Repaired = true
	r.log.Warn("left out a record that cannot be applied; its change is lost, and an older record of the same key or policy counts",
		"file", name, "offset", offset, "record", refused.What, "reason", refused.Err, "copy", name+damagedSuffix)
	if r.copied == name {
		return nil
	}
	r.copied = name
	return disk.Copy(r.fs, name, name+damagedSuffix)
}

func (r *recovery) carryOut(c keyspace.Change) error {
	switch c.Kind {
	case keyspace.Changed:
		r.found.Keys++
		r.states++
		return recordError(c, r.store.Load(r.now, c.Entry))
	case keyspace.Deleted:
		r.store.Unload(c.Entry.Key)
	case keyspace.Flushed:
		r.store.Apply(r.now, []engine.Op{{Verb: engine.Flush}}, make([]engine.Result, 1))
	case keyspace.PolicyChanged:
		if err := checkChange(c); err != nil {
			return err
		}
		r.store.Apply(r.now, []engine.Op{*c.Op}, make([]engine.Result, 1))
	case keyspace.PoliciesForgotten:
		r.store.Apply(r.now, []engine.Op{{Verb: engine.DropScripts}}, make([]engine.Result, 1))
		for _, name := range r.store.PolicyNames() {
			r.store.Apply(r.now, []engine.Op{{Verb: engine.DropPolicy, Key: []byte(name)}}, make([]engine.Result, 1))
		}
	}
	return nil
}

// end implements handler. It sees the last record of a snapshot under repair, or one in the wrong place.
func (r *recovery) end(int64) error {
	if !r.found.Repaired {
		return disk.ErrDamaged
	}
	return nil
}

// missing refuses a directory in which a file is missing, or is another directory's. With repair such a file is left
// out, and keeps its contents under another name.
func (r *recovery) missing(c *contents) error {
	damage, err := c.damage()
	if err != nil || len(damage) == 0 {
		return err
	}
	if !r.repair {
		return damage[0]
	}
	r.found.Repaired = true
	for _, d := range damage {
		r.log.Warn("a file is missing or belongs elsewhere; the start continues with the other files, and what only this file held is lost", "file", d.Name, "reason", d.Err)
		if d.Name == disk.ManifestFile {
			c.manifest = nil
		}
		if errors.Is(d, disk.ErrAbsent) {
			continue
		}
		if err := r.fs.Rename(d.Name, d.Name+damagedSuffix); err != nil {
			return err
		}
	}
	return nil
}
