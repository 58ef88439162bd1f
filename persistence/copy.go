package persistence

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stintdb/stint/engine/keyspace"
)

// errTooMany is the error of a file that goes on after its last record.
var errTooMany = errors.New("has records after its last one")

// CopyState copies the output of [WriteState] and writes what edit makes of each entry, which is valid during the call.
// Changed entries keep the time of their block. It returns the number of entries and of bytes written.
func CopyState(to io.Writer, from io.Reader, edit func(now int64, e keyspace.Entry) (keyspace.Entry, error)) (states, bytes int64, err error) {
	blocks, err := newBlockReader(stateName, from, snapshotMagic)
	if err != nil {
		return 0, 0, err
	}
	c := &copier{out: blockWriter{to: to}, edit: edit, ends: -1}
	c.out.write(header(snapshotMagic, 0, blocks.keys))
	var dec decoder
	for c.out.err == nil {
		payload, err := blocks.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c.states, c.out.offset, err
		}
		c.now, _, _ = payloadHeader(payload)
		c.out.enc.start(c.now)
		if err := dec.decode(payload, c); err != nil {
			return c.states, c.out.offset, blocks.damage(err)
		}
		c.out.flush(c.now)
		time.Sleep(snapshotRest)
	}
	if c.out.err == nil && c.ends != c.states {
		return c.states, c.out.offset, blocks.damage(fmt.Errorf("%d of %d states: %w", c.states, c.ends, errCutShort))
	}
	return c.states, c.out.offset, c.out.err
}

// copier is the handler of [CopyState].
type copier struct {
	out    blockWriter
	edit   func(now int64, e keyspace.Entry) (keyspace.Entry, error)
	now    int64
	states int64
	ends   int64 // the number of states in the last record, -1 before it
}

func (c *copier) change(change keyspace.Change) error {
	if c.ends >= 0 {
		return errTooMany
	}
	if change.Kind == keyspace.Changed {
		edited, err := c.edit(c.now, change.Entry)
		if err != nil {
			return recordError(change, err)
		}
		change.Entry = edited
		c.states++
	}
	c.out.enc.change(change)
	return nil
}

func (c *copier) end(states int64) error {
	c.ends = states
	c.out.enc.end(states)
	return nil
}
