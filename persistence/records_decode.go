package persistence

import (
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/persistence/disk"
)

// handler takes the records of a payload, in order. Slices are only valid during the call.
type handler interface {
	change(c keyspace.Change) error
	end(states int64) error
}

// decoder reads a payload. Every length is compared with the bytes left before it is used.
type decoder struct {
	engine.PartReader
	limits []limits.Limit
}

func (d *decoder) limit() limits.Limit {
	id := d.Uvarint()
	if id >= uint64(len(d.limits)) {
		d.Fail()
		return limits.Limit{}
	}
	return d.limits[id]
}

// decode passes everything in a payload to h.
func (d *decoder) decode(payload []byte, h handler) error {
	d.PartReader, d.limits = engine.PartReader{Rest: payload[disk.PayloadHead:]}, d.limits[:0]
	for len(d.Rest) > 0 {
		kind := d.Byte()
		err := d.record(kind, h)
		if d.Bad {
			return fmt.Errorf("record of kind %d: %w", kind, disk.ErrDamaged)
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
		if len(d.Rest) > 0 && !limits.Algorithm(d.Rest[0]).Known() { // how many bytes such a limit has is unknown, too
			return fmt.Errorf("algorithm %d: %w", d.Rest[0], disk.ErrNewer)
		}
		d.limits = append(d.limits, d.Limit())
	case recState:
		c := keyspace.Change{Entry: keyspace.Entry{Limit: d.limit()}}
		keyBytes, stateBytes := d.Uvarint(), d.Uvarint()
		c.Entry.Key, c.Entry.State = d.Take(keyBytes), d.Take(stateBytes)
		if !d.Bad {
			return h.change(c)
		}
	case recDeleted:
		key := d.Take(d.Uvarint())
		if !d.Bad {
			return h.change(keyspace.Change{Kind: keyspace.Deleted, Entry: keyspace.Entry{Key: key}})
		}
	case recFlushed:
		return h.change(keyspace.Change{Kind: keyspace.Flushed})
	case recForget:
		return h.change(keyspace.Change{Kind: keyspace.PoliciesForgotten})
	case recPolicy:
		op := d.policy()
		if !d.Bad {
			return h.change(keyspace.Change{Kind: keyspace.PolicyChanged, Op: op})
		}
	case recEnd:
		states := d.Uvarint()
		if !d.Bad {
			return h.end(int64(states))
		}
	default: // the block's checksum is right, so this is no damage
		return fmt.Errorf("record of kind %d: %w", kind, disk.ErrNewer)
	}
	return nil
}

func (d *decoder) policy() *engine.Op {
	verb, options := d.Byte(), d.Byte()
	costs := verb&newerPolicy != 0 && options&partsWithCosts != 0
	op := &engine.Op{Verb: engine.Verb(verb &^ newerPolicy)}
	if costs {
		options &^= partsWithCosts
	}
	op.SetOptionBits(options)
	if verb&newerPolicy != 0 && op.Options&engine.NamedFields == 0 && !costs { // of a version that has more
		op.Verb = engine.Verb(verb)
	}
	op.Key, op.Who = d.Take(d.Uvarint()), d.Take(d.Uvarint())
	parts := d.Uvarint()
	if parts > engine.MaxParts {
		d.Fail()
		return nil
	}
	for range parts {
		part := engine.Op{Limit: d.limit()}
		part.Key, part.Who = d.Take(d.Uvarint()), d.Take(d.Uvarint())
		if costs {
			options := d.Byte()
			part.Options, part.Tokens, part.Keep = engine.Option(options&^partWithWeight), int64(d.Uvarint()), engine.Keep(d.Varint())
			if options&partWithWeight != 0 {
				part.Weight = int64(d.Uvarint())
			}
		}
		op.Parts = append(op.Parts, part)
	}
	return op
}
