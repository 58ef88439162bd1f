package persistence

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/persistence/disk"
)

// errTooMany is the error of a file that goes on after its last record.
var errTooMany = errors.New("has records after its last one")

// CopyState copies the output of [WriteState]. It returns the number of entries and of bytes written.
func CopyState(to io.Writer, from io.Reader) (states, bytes int64, err error) {
	return CopyStates(to, []io.Reader{from}, func(_ int64, e keyspace.Entry) (keyspace.Entry, bool, error) { return e, true, nil })
}

// CopyStates copies several states as one, and writes the result of edit for each entry, which is valid during the call
// and keeps the time of its block. Edit may leave the entry out: no key may be in two of them. Policies and scripts are
// those of the first state; all have the same.
func CopyStates(to io.Writer, from []io.Reader, edit func(now int64, e keyspace.Entry) (edited keyspace.Entry, keep bool, err error)) (states, bytes int64, err error) {
	c := &copier{out: blockWriter{to: to}, edit: edit}
	sources, keys := make([]*disk.BlockReader, len(from)), int64(0)
	for i, in := range from {
		if sources[i], err = disk.NewBlockReader(stateName, in, disk.SnapshotMagic); err != nil {
			return 0, 0, err
		}
		keys += sources[i].Keys
	}
	c.out.write(disk.Header(disk.SnapshotMagic, 0, keys))
	for i, source := range sources {
		c.source, c.isLast, c.read, c.ends = i, i == len(sources)-1, 0, -1
		if err := c.copy(source); err != nil {
			return c.states, c.out.offset, err
		}
	}
	return c.states, c.out.offset, nil
}

// copier is the handler of [CopyStates].
type copier struct {
	out    blockWriter
	edit   func(now int64, e keyspace.Entry) (edited keyspace.Entry, keep bool, err error)
	states int64 // written

	source int // the number of the state that is read
	isLast bool
	now    int64
	read   int64
	ends   int64 // the number of entries in its last record, -1 before it
}

// copy copies one state.
func (c *copier) copy(blocks *disk.BlockReader) error {
	var dec decoder
	for c.out.err == nil {
		payload, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		c.now, _, _ = disk.PayloadHeader(payload)
		c.out.enc.start(c.now)
		if err := dec.decode(payload, c); err != nil {
			return blocks.Damage(err)
		}
		c.out.flush(c.now)
		time.Sleep(snapshotRest)
	}
	if c.out.err == nil && c.ends != c.read {
		return blocks.Damage(fmt.Errorf("%d of %d states: %w", c.read, c.ends, disk.ErrCutShort))
	}
	return c.out.err
}

func (c *copier) change(change keyspace.Change) error {
	if c.ends >= 0 {
		return errTooMany
	}
	switch {
	case change.Kind == keyspace.Changed:
		c.read++
		edited, keep, err := c.edit(c.now, change.Entry)
		if err != nil {
			return recordError(change, err)
		}
		if !keep {
			return nil
		}
		change.Entry = edited
		c.states++
	case c.source > 0 && change.Kind == keyspace.PolicyChanged && change.Op.Verb != engine.KeepOverflow: // the first state has it
		return nil
	}
	c.out.enc.change(change)
	return nil
}

func (c *copier) end(states int64) error {
	if c.ends = states; c.isLast {
		c.out.enc.end(c.states)
	}
	return nil
}
