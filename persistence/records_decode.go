package persistence

import (
	"encoding/binary"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// handler takes the records of a payload, in order. Slices are only valid during the call.
type handler interface {
	change(c keyspace.Change) error
	end(states int64) error
}

// decoder reads a payload. Every length is compared with the bytes left before it is used.
type decoder struct {
	rest   []byte
	bad    bool
	limits []limits.Limit
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.bad = true
		d.rest = nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) limit() limits.Limit {
	id := d.uvarint()
	if id >= uint64(len(d.limits)) {
		d.bad = true
		return limits.Limit{}
	}
	return d.limits[id]
}

// payloadHeader returns a payload's time and the offset up to which the journal was durable.
func payloadHeader(payload []byte) (now, synced int64, ok bool) {
	if len(payload) < payloadHead {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint64(payload)), int64(binary.LittleEndian.Uint64(payload[8:])), true
}

// decode passes everything in a payload to h.
func (d *decoder) decode(payload []byte, h handler) error {
	d.rest, d.bad, d.limits = payload[payloadHead:], false, d.limits[:0]
	for len(d.rest) > 0 {
		kind := d.byte()
		err := d.record(kind, h)
		if d.bad {
			return fmt.Errorf("record of kind %d: %w", kind, ErrDamaged)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) record(kind byte, h handler) error {
	switch kind {
	case recLimit:
		l := limits.Limit{Algorithm: limits.Algorithm(d.byte()), Span: limits.Span(d.byte())}
		l.Capacity, l.Rate.Tokens, l.Rate.Period = int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint())
		if l.Algorithm.HasLeast() {
			l.Least = int64(d.uvarint())
		}
		d.limits = append(d.limits, l)
	case recState:
		c := keyspace.Change{Entry: keyspace.Entry{Limit: d.limit()}}
		keyBytes, stateBytes := d.uvarint(), d.uvarint()
		c.Entry.Key, c.Entry.State = d.take(keyBytes), d.take(stateBytes)
		if !d.bad {
			return h.change(c)
		}
	case recDeleted:
		key := d.take(d.uvarint())
		if !d.bad {
			return h.change(keyspace.Change{Kind: keyspace.Deleted, Entry: keyspace.Entry{Key: key}})
		}
	case recFlushed:
		return h.change(keyspace.Change{Kind: keyspace.Flushed})
	case recForget:
		return h.change(keyspace.Change{Kind: keyspace.PoliciesForgotten})
	case recPolicy:
		op := d.policy()
		if !d.bad {
			return h.change(keyspace.Change{Kind: keyspace.PolicyChanged, Op: op})
		}
	case recEnd:
		states := d.uvarint()
		if !d.bad {
			return h.end(int64(states))
		}
	default:
		d.bad = true
	}
	return nil
}

func (d *decoder) policy() *engine.Op {
	verb, options := d.byte(), d.byte()
	costs := verb&newerPolicy != 0 && options&partsWithCosts != 0
	op := &engine.Op{Verb: engine.Verb(verb &^ newerPolicy)}
	if costs {
		options &^= partsWithCosts
	}
	op.SetOptionBits(options)
	if verb&newerPolicy != 0 && op.Options&engine.NamedFields == 0 && !costs { // of a version that has more
		op.Verb = engine.Verb(verb)
	}
	op.Key, op.Who = d.take(d.uvarint()), d.take(d.uvarint())
	parts := d.uvarint()
	if parts > engine.MaxParts {
		d.bad = true
		return nil
	}
	for range parts {
		part := engine.Op{Limit: d.limit()}
		part.Key, part.Who = d.take(d.uvarint()), d.take(d.uvarint())
		if costs {
			options := d.byte()
			part.Options, part.Tokens, part.Keep = engine.Option(options&^partWithWeight), int64(d.uvarint()), engine.Keep(d.varint())
			if options&partWithWeight != 0 {
				part.Weight = int64(d.uvarint())
			}
		}
		op.Parts = append(op.Parts, part)
	}
	return op
}
