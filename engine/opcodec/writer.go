package opcodec

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Writer writes operations as bytes. It describes each limit once for all that is written between two Resets, which
// one [Reader] has to read from the beginning. The zero value is ready for use.
type Writer struct {
	limits     map[limits.Limit]uint64
	last       limits.Limit
	lastID     uint64
	unreadable bool
}

// Reset makes the writer begin another buffer.
func (w *Writer) Reset() {
	clear(w.limits)
	w.last, w.lastID, w.unreadable = limits.Limit{}, 0, false
}

// Err returns [ErrInvalid] if something was appended since the last Reset that a [Reader] would refuse, or that has a
// limit which [limits.Limit.Check] does not let in. It must not be written to a log: no replica could carry it out, now
// or ever.
func (w *Writer) Err() error {
	if w.unreadable {
		return ErrInvalid
	}
	return nil
}

// Append appends an operation to b. Fields that its verb has no use for are not kept.
func (w *Writer) Append(b []byte, op *engine.Op) []byte {
	if findsPolicy(op.Verb) && len(op.Key) > maxPolicyLookup {
		cut := *op
		cut.Key = op.Key[:maxPolicyLookup]
		op = &cut
	}
	layout := &opLayouts[op.Verb]
	w.unreadable = w.unreadable || !canBeRead(op, layout)
	b = w.appendFields(b, op, layout.fields, op.OptionBits())
	if layout.takesArgs(op) {
		b = appendArgs(b, op)
	}
	if layout.fields&fieldRequest != 0 && len(op.Parts) == 1 {
		return w.Append(b, &op.Parts[0])
	}
	if layout.fields&fieldParts != 0 {
		b = binary.AppendUvarint(b, uint64(len(op.Parts)))
		for i := range op.Parts {
			part := &op.Parts[i]
			b = w.appendFields(b, part, layout.parts, byte(part.Options)&layout.partOptions)
		}
	}
	return b
}

func appendArgs(b []byte, op *engine.Op) []byte {
	b = binary.AppendUvarint(b, uint64(len(op.Args)))
	for _, arg := range op.Args {
		b = append(binary.AppendUvarint(b, uint64(len(arg))), arg...)
	}
	b = binary.AppendUvarint(b, uint64(op.KeyFrom))
	return binary.AppendUvarint(b, uint64(op.KeyCount))
}

func (w *Writer) appendFields(b []byte, op *engine.Op, fields opFields, options byte) []byte {
	there := fields.with(options).of(op)
	head := byte(there & flaggedFields)
	if options |= byte(there & flaggedFields >> 8); options != 0 {
		head |= headOptions
	}
	if op.Verb < verbFollows {
		b = append(b, head|byte(op.Verb))
	} else {
		b = append(b, head|verbFollows, byte(op.Verb))
	}
	if options != 0 {
		b = append(b, options)
	}
	if there&fieldLimit != 0 {
		b = w.appendLimit(b, &op.Limit)
	}
	if there&fieldKey != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(op.Key))), op.Key...)
	}
	if there&fieldWho != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(op.Who))), op.Who...)
	}
	if there&fieldTokens != 0 {
		b = binary.AppendUvarint(b, uint64(op.Tokens))
	}
	if there&fieldMaxWait != 0 {
		b = binary.AppendVarint(b, op.MaxWait)
	}
	if there&fieldKeep != 0 {
		b = binary.AppendVarint(b, int64(op.Keep))
	}
	if there&fieldPrior != 0 {
		b = binary.AppendUvarint(b, uint64(op.PriorAt))
	}
	if there&fieldWeight != 0 {
		b = binary.AppendUvarint(b, uint64(op.Weight))
	}
	if there&fieldLoan != 0 {
		b = appendLoan(b, op)
	}
	if there&fieldReport != 0 {
		for _, n := range reportFields(op.Report) {
			b = binary.AppendUvarint(b, uint64(*n))
		}
	}
	if there&fieldMaxKey != 0 {
		b = binary.AppendUvarint(b, uint64(op.MaxKey))
	}
	if there&fieldNth != 0 {
		b = binary.AppendUvarint(b, uint64(op.Nth))
	}
	return b
}

func appendLoan(b []byte, op *engine.Op) []byte {
	b = binary.AppendUvarint(b, op.Loan.Number)
	b = binary.AppendUvarint(b, op.Loan.Previous)
	b = binary.AppendUvarint(b, uint64(op.Loan.Left))
	if op.Verb == engine.Lend && op.Options&engine.Merged != 0 {
		b = binary.AppendUvarint(b, uint64(op.Loan.Waiting))
		b = binary.AppendUvarint(b, uint64(op.Loan.Each))
	}
	return b
}

// reportFields are the numbers of a report in the order in which they are written.
func reportFields(r *engine.Report) [6]*int64 {
	return [...]*int64{&r.Good, &r.Bad, &r.Every, &r.Down, &r.Up, &r.Pause}
}

func (w *Writer) appendLimit(b []byte, l *limits.Limit) []byte {
	if *l == w.last && w.lastID > 0 {
		return binary.AppendUvarint(b, w.lastID)
	}
	id, known := w.limits[*l]
	if known {
		b = binary.AppendUvarint(b, id)
	} else {
		if w.limits == nil {
			w.limits = map[limits.Limit]uint64{}
		}
		id = uint64(len(w.limits)) + 1
		w.limits[*l] = id
		w.unreadable = w.unreadable || l.Check() != nil
		b = l.Append(append(b, 0))
	}
	w.last, w.lastID = *l, id
	return b
}
