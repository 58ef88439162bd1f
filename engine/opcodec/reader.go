package opcodec

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Reader reads the bytes of a [Writer]. It trusts nothing: every length is compared with the bytes left, every number
// against its range, and bytes that no operation of this version can have are refused.
type Reader struct {
	in     byteReader
	limits []limits.Limit
	parts  []engine.Op
	args   [][]byte
}

// Reset makes the reader begin with b. Operations read before are no longer valid.
func (r *Reader) Reset(b []byte) {
	r.in = readerOf(b)
	if cap(r.parts) > keepOpParts {
		r.parts = nil
	}
	if cap(r.limits) > keepOpLimits {
		r.limits = nil
	}
	if cap(r.args) > keepOpArgs {
		r.args = nil
	}
	clear(r.parts) // so that it does not hold on to earlier operations
	clear(r.args)
	r.limits, r.parts, r.args = r.limits[:0], r.parts[:0], r.args[:0]
}

// More reports whether there is another operation to be read.
func (r *Reader) More() bool { return len(r.in.Rest) > 0 }

// Next reads the next operation, or returns [ErrInvalid], after which nothing more can be read. What op refers to is
// valid until the next Reset, and as long as the bytes are not changed.
func (r *Reader) Next(op *engine.Op) error {
	if !r.next(op) {
		r.in.Rest = nil
		return ErrInvalid
	}
	return nil
}

func (r *Reader) next(op *engine.Op) bool {
	head := r.readHead(op)
	if r.in.Bad || int(op.Verb) >= len(opLayouts) {
		return false
	}
	layout := &opLayouts[op.Verb]
	if !r.readFields(op, head, layout.fields, layout.options) {
		return false
	}
	if layout.takesArgs(op) && !r.readArgs(op) {
		return false
	}
	if layout.fields&fieldRequest != 0 && !r.readRequest(op) {
		return false
	}
	if layout.fields&fieldParts != 0 && !r.readParts(op, layout) {
		return false
	}
	return valid(op)
}

// readRequest reads the operation that a Reserve carries out.
func (r *Reader) readRequest(op *engine.Op) bool {
	var request engine.Op
	if !canBeReserved(r.nextVerb()) || !r.next(&request) {
		return false
	}
	r.parts = append(r.parts, request)
	op.Parts = r.parts[len(r.parts)-1 : len(r.parts) : len(r.parts)]
	return true
}

// nextVerb is the verb of the operation that comes next, verbFollows if there is none.
func (r *Reader) nextVerb() engine.Verb {
	rest := r.in.Rest
	switch {
	case len(rest) > 0 && rest[0]&verbMask != verbFollows:
		return engine.Verb(rest[0] & verbMask)
	case len(rest) > 1:
		return engine.Verb(rest[1])
	}
	return verbFollows
}

func (r *Reader) readArgs(op *engine.Op) bool {
	n := r.in.Uvarint()
	if r.in.Bad || n > uint64(len(r.in.Rest)) {
		return false
	}
	first := len(r.args)
	for range n {
		r.args = append(r.args, r.in.Text())
	}
	op.Args = r.args[first:len(r.args):len(r.args)]
	op.KeyFrom, op.KeyCount = r.in.uint32(), r.in.uint32()
	return !r.in.Bad
}

func (r *Reader) readParts(op *engine.Op, layout *opLayout) bool {
	n := r.in.Uvarint()
	if r.in.Bad || n > engine.MaxParts {
		return false
	}
	first := len(r.parts)
	for range n {
		r.parts = append(r.parts, engine.Op{})
		part := &r.parts[len(r.parts)-1]
		if !r.readFields(part, r.readHead(part), layout.parts, layout.partOptions) || part.Verb != engine.Acquire {
			return false
		}
		if op.Verb == engine.AcquireAll {
			part.Options |= op.Options
			part.MaxWait = op.MaxWait
		}
	}
	op.Parts = r.parts[first:len(r.parts):len(r.parts)]
	return true
}

// readHead begins an operation with its verb. It takes any verb from a separate byte, also one that fits the head.
func (r *Reader) readHead(op *engine.Op) (head byte) {
	head = r.in.Byte()
	*op = engine.Op{Verb: engine.Verb(head & verbMask)}
	if op.Verb == verbFollows {
		op.Verb = engine.Verb(r.in.Byte())
	}
	return head
}

// readFields reads an operation after its verb. options are the options that it may have.
func (r *Reader) readFields(op *engine.Op, head byte, fields opFields, options byte) bool {
	flags := opFields(head)
	var bits byte // of the options, without flags
	if head&headOptions != 0 {
		bits = r.in.Byte()
		flags |= opFields(bits) << 8
		bits &^= byte(fields & flaggedFields >> 8)
		op.SetOptionBits(bits)
		fields = fields.with(bits)
	}
	if bits&^options != 0 || head&^(verbMask|headOptions)&^byte(fields&flaggedFields) != 0 {
		return false
	}
	there := fields & (flags | ^flaggedFields)
	in := &r.in
	if there&fieldLimit != 0 && !r.readLimit(&op.Limit) {
		return false
	}
	if there&fieldKey != 0 {
		op.Key = in.Text()
	}
	if there&fieldWho != 0 {
		op.Who = in.Text()
	}
	if fields&fieldTokens != 0 {
		op.Tokens = usualTokens
	}
	if there&fieldTokens != 0 {
		op.Tokens = int64(in.Uvarint())
	}
	if there&fieldMaxWait != 0 {
		op.MaxWait = in.Varint()
	}
	if there&fieldKeep != 0 {
		op.Keep = engine.Keep(in.Varint())
		in.Bad = in.Bad || op.Keep == 0
	}
	if there&fieldPrior != 0 {
		op.PriorAt = int64(in.Uvarint())
		in.Bad = in.Bad || op.PriorAt <= 0
	}
	if there&fieldWeight != 0 {
		op.Weight = int64(in.Uvarint())
		in.Bad = in.Bad || op.Weight <= 0
	}
	if there&fieldLoan != 0 {
		r.readLoan(op)
	}
	if there&fieldReport != 0 {
		r.readReport(op)
	}
	if there&fieldMaxKey != 0 {
		op.MaxKey = in.uint32()
	}
	if there&fieldNth != 0 {
		op.Nth = in.uint32()
	}
	return !in.Bad
}

func (r *Reader) readReport(op *engine.Op) {
	op.Report = &engine.Report{}
	for _, n := range reportFields(op.Report) {
		*n = int64(r.in.Uvarint())
	}
}

func (r *Reader) readLoan(op *engine.Op) {
	op.Loan = &engine.Loan{Number: r.in.Uvarint(), Previous: r.in.Uvarint(), Left: int64(r.in.Uvarint())}
	if op.Verb == engine.Lend && op.Options&engine.Merged != 0 {
		op.Loan.Waiting, op.Loan.Each = int64(r.in.Uvarint()), int64(r.in.Uvarint())
	}
}

func (r *Reader) readLimit(l *limits.Limit) bool {
	switch id := r.in.Uvarint(); {
	case r.in.Bad || id > uint64(len(r.limits)):
		return false
	case id > 0:
		*l = r.limits[id-1]
		return true
	}
	*l = r.in.Limit()
	r.limits = append(r.limits, *l)
	return !r.in.Bad && l.IsAskable()
}
