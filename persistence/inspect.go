package persistence

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/persistence/disk"
)

// Report is the result of [Inspect] for one file.
type Report struct {
	Name    string
	Journal bool // or else a snapshot
	Number  uint64
	Bytes   int64
	Blocks  int64

	HasIdentity bool // a start wants the manifest of its directory beside it

	States    int64 // of keys: in a snapshot one for each, in a journal one for each flush after which a key had changed
	Deletions int64
	Flushes   int64
	Policies  int64 // changes of policies

	First, Last int64 // times of the first and the last block, Unix nanoseconds; 0 without blocks

	Damage       *disk.DamageError   // the first place that is not whole, nil if there is none
	Refused      []*disk.DamageError // records in whole blocks that a server refuses, the first maxRefused of them
	RefusedCount int64               // their number
	Torn         bool                // Damage is only a journal's end, unfinished or torn by a crash; a start cuts it off
}

// Whole reports whether all durable data of the file is still there.
func (r *Report) Whole() bool { return r.RefusedCount == 0 && (r.Damage == nil || r.Torn) }

// maxRefused bounds the records that a report names.
const maxRefused = 100

// Record is one record of a file. Its slices are only valid during the call.
type Record struct {
	keyspace.Change
	Time   int64 // of its block, Unix nanoseconds
	Offset int64 // of its block
}

// Files lists the snapshots and journals of a directory in the order in which they were begun, snapshots first; others
// are incomplete snapshots and copies of damaged files.
func Files(dir disk.FS) (files, others []string, err error) {
	names, err := dir.List()
	if err != nil {
		return nil, nil, err
	}
	for _, prefix := range []string{disk.SnapshotPrefix, disk.JournalPrefix} {
		for _, n := range disk.Numbers(names, prefix) {
			files = append(files, disk.FileName(prefix, n))
		}
		for _, name := range names {
			for _, ending := range []string{disk.TempSuffix, damagedSuffix} {
				if base, is := strings.CutSuffix(name, ending); is && len(disk.Numbers([]string{base}, prefix)) == 1 {
					others = append(others, name)
				}
			}
		}
	}
	return files, others, nil
}

// HoldsState reports whether a directory has a file of a server that stands alone, and names one.
func HoldsState(dir disk.FS) (name string, err error) {
	files, others, err := Files(dir)
	if all := append(files, others...); err != nil || len(all) > 0 {
		return strings.Join(all[:min(1, len(all))], ""), err
	}
	names, err := dir.List()
	if slices.ContainsFunc(names, disk.IsManifest) {
		return disk.ManifestFile, err
	}
	return "", err
}

// inspection is a handler that counts records and passes them on.
type inspection struct {
	report Report
	visit  func(Record) error
	failed error  // of visit
	record Record // Time and Offset of the block being read
	ended  bool   // a snapshot's last record was seen
	isBad  bool   // a block with a correct checksum cannot be decoded, so it was not torn
}

// Inspect reads one file, checks every block and calls visit for every record in the whole ones. It takes no lock
// and changes nothing, so it may read the files of a running server. The error is visit's or a failed read's; the
// report lists the file's damage.
func Inspect(dir disk.FS, name string, visit func(Record) error) (Report, error) {
	in := &inspection{report: Report{Name: name}, visit: visit}
	err := in.read(dir)
	return in.report, err
}

func (i *inspection) read(dir disk.FS) error {
	r := &i.report
	journals, err := journalsOf(dir) // first, because a journal with a successor is complete
	if err != nil {
		return err
	}
	data, err := dir.Open(r.Name)
	if err != nil {
		return err
	}
	defer data.Close()
	magic, err := kindOf(dir, r.Name)
	if err != nil {
		return err
	}
	r.Journal = magic == disk.JournalMagic
	counted := &countingReader{in: data}
	blocks, err := disk.NewBlockReader(r.Name, counted, magic)
	r.Number, r.HasIdentity = blocks.Number, blocks.Head.Identity() != 0
	var dec decoder
	for err == nil {
		var payload []byte
		if payload, err = blocks.Next(); err == nil {
			err = i.block(&dec, blocks.Offset-disk.AlignBlock(disk.BlockHead+int64(len(payload))), payload)
		}
	}
	r.Bytes = counted.n
	if errors.Is(err, io.EOF) {
		switch {
		case r.Journal:
			r.Bytes = blocks.Offset // without the room after them
			if discarded, e := journals.isDiscarded(blocks.Number); discarded || e != nil {
				r.Torn, r.Damage = discarded, &disk.DamageError{Name: r.Name, Offset: 0, Err: disk.ErrLeftOut}
				return e
			}
			err = journals.endsWhole(blocks)
		case !i.ended:
			err = blocks.Damage(disk.ErrCutShort)
		default:
			err = nil
		}
	}
	damage, ok := errors.AsType[*disk.DamageError](err)
	if !ok {
		return err
	}
	r.Damage = damage
	return i.afterDamage(dir, blocks, journals, &dec)
}

// afterDamage inspects the bytes after damage.
func (i *inspection) afterDamage(dir disk.FS, blocks *disk.BlockReader, journals journalChain, dec *decoder) error {
	r := &i.report
	tail, err := disk.ReadFrom(dir, r.Name, r.Damage.Offset)
	if err != nil {
		return err
	}
	r.Bytes = r.Damage.Offset + int64(len(tail))
	if _, ok := disk.BlockAt(tail, blocks.Number, r.Damage.Offset, r.Damage.Offset); r.Journal && ok && !i.isBad {
		r.Torn = true // it was half written at the first read
		return nil
	}
	if r.Journal && !i.isBad {
		if r.Torn, err = journals.isTorn(blocks.Number, tail, r.Damage.Offset); err != nil || r.Torn {
			return err
		}
	}
	disk.WholeBlocks(tail, blocks.Number, r.Damage.Offset, func(offset int64, payload []byte) {
		if i.failed == nil {
			_ = i.block(dec, offset, payload) // the file is already known to be damaged
		}
	})
	return i.failed
}

func (i *inspection) block(dec *decoder, offset int64, payload []byte) error {
	r := &i.report
	i.record.Time, _, _ = disk.PayloadHeader(payload)
	i.record.Offset = offset
	if r.Blocks++; r.Blocks == 1 {
		r.First = i.record.Time
	}
	r.Last = i.record.Time
	switch err := dec.decode(payload, i); {
	case i.failed != nil:
		return i.failed
	case err != nil:
		i.isBad = true
		return &disk.DamageError{Name: r.Name, Offset: offset, Err: err}
	}
	return nil
}

// change implements handler.
func (i *inspection) change(c keyspace.Change) error {
	switch c.Kind {
	case keyspace.Changed:
		i.report.States++
	case keyspace.Deleted:
		i.report.Deletions++
	case keyspace.Flushed:
		i.report.Flushes++
	case keyspace.PolicyChanged, keyspace.PoliciesForgotten:
		i.report.Policies++
	}
	if err := checkChange(c); err != nil {
		if i.report.RefusedCount++; i.report.RefusedCount <= maxRefused {
			i.report.Refused = append(i.report.Refused, &disk.DamageError{Name: i.report.Name, Offset: i.record.Offset, Err: err})
		}
		return nil
	}
	i.record.Change = c
	i.failed = i.visit(i.record)
	return i.failed
}

// end implements handler.
func (i *inspection) end(states int64) error {
	i.ended = true
	if states != i.report.States && i.report.Damage == nil {
		return disk.ErrDamaged
	}
	return nil
}

// kindOf is the magic number at the start of a file or, if the start is damaged, the one that its name implies.
func kindOf(dir disk.FS, name string) (magic string, err error) {
	in, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	head := make([]byte, len(disk.JournalMagic))
	if _, err := io.ReadFull(in, head); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	if is := string(head) == disk.JournalMagic || len(disk.Numbers([]string{name}, disk.JournalPrefix)) == 1; is && string(head) != disk.SnapshotMagic {
		return disk.JournalMagic, nil
	}
	return disk.SnapshotMagic, nil
}

type countingReader struct {
	in io.Reader
	n  int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}
