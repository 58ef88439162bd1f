package opcodec

import "github.com/stintdb/stint/engine"

// Reader reads the bytes of a [Writer]. It trusts nothing: every length is compared with the bytes left, every number
// against its range, and bytes that no operation of this version can have are refused.
type Reader struct {
	in     byteReader
	limits []engine.Limit
	parts  []engine.Op
	args   [][]byte
}

// Reset makes the reader begin with b. Operations read before are no longer valid.
func (r *Reader) Reset(b []byte) {
	r.in = byteReader{rest: b}
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
func (r *Reader) More() bool { return len(r.in.rest) > 0 }

// Next reads the next operation, or returns [ErrInvalid], after which nothing more can be read. What op refers to is valid
// until the next Reset, and as long as the bytes are not changed.
func (r *Reader) Next(op *engine.Op) error {
	if !r.next(op) {
		r.in.rest = nil
		return ErrInvalid
	}
	return nil
}

func (r *Reader) next(op *engine.Op) bool {
	head := r.readHead(op)
	if r.in.bad || int(op.Verb) >= len(opLayouts) {
		return false
	}
	layout := &opLayouts[op.Verb]
	if !r.readFields(op, head, layout.fields, layout.options) {
		return false
	}
	if layout.hasArgs(op) && !r.readArgs(op) {
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
	if len(r.in.rest) == 0 || !canBeReserved(engine.Verb(r.in.rest[0]&verbMask)) || !r.next(&request) {
		return false
	}
	r.parts = append(r.parts, request)
	op.Parts = r.parts[len(r.parts)-1 : len(r.parts) : len(r.parts)]
	return true
}

func (r *Reader) readArgs(op *engine.Op) bool {
	n := r.in.uvarint()
	if r.in.bad || n > uint64(len(r.in.rest)) {
		return false
	}
	first := len(r.args)
	for range n {
		r.args = append(r.args, r.in.take(r.in.uvarint()))
	}
	op.Args = r.args[first:len(r.args):len(r.args)]
	op.KeyFrom, op.KeyCount = r.in.uint32(), r.in.uint32()
	return !r.in.bad
}

func (r *Reader) readParts(op *engine.Op, layout *opLayout) bool {
	n := r.in.uvarint()
	if r.in.bad || n > engine.MaxParts {
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
	head = r.in.byte()
	*op = engine.Op{Verb: engine.Verb(head & verbMask)}
	if op.Verb == verbFollows {
		op.Verb = engine.Verb(r.in.byte())
	}
	return head
}

func (r *Reader) readFields(op *engine.Op, head byte, fields opFields, options byte) bool {
	in := &r.in
	var bits byte
	keeps, hasPrior, hasWeight := false, false, false
	if head&headOptions != 0 {
		bits = in.byte()
		if keeps = fields&fieldKeep != 0 && bits&optionKeep != 0; keeps {
			bits &^= optionKeep
		}
		if hasPrior = fields&fieldPrior != 0 && bits&optionPrior != 0; hasPrior {
			bits &^= optionPrior
		}
		if hasWeight = fields&fieldWeight != 0 && bits&optionWeight != 0; hasWeight {
			bits &^= optionWeight
		}
		op.SetOptionBits(bits)
	}
	if fields&fieldLimit != 0 && !r.readLimit(&op.Limit) {
		return false
	}
	if hasKey(fields, bits) {
		op.Key = in.take(in.uvarint())
	}
	if head&headWho != 0 {
		op.Who = in.take(in.uvarint())
	}
	if hasTokens(fields, bits) {
		op.Tokens = usualTokens
	}
	if head&headTokens != 0 {
		op.Tokens = int64(in.uvarint())
	}
	if head&headMaxWait != 0 {
		op.MaxWait = in.varint()
	}
	if keeps {
		op.Keep = engine.Keep(in.varint())
		in.bad = in.bad || op.Keep == 0
	}
	if hasPrior {
		op.PriorAt = int64(in.uvarint())
		in.bad = in.bad || op.PriorAt <= 0
	}
	if hasWeight {
		op.Weight = int64(in.uvarint())
		in.bad = in.bad || op.Weight <= 0
	}
	if fields&fieldLoan != 0 {
		op.Loan = &engine.Loan{Number: in.uvarint(), Previous: in.uvarint(), Left: int64(in.uvarint())}
		if op.Verb == engine.Lend && op.Options&engine.Merged != 0 {
			op.Loan.Waiting, op.Loan.Each = int64(in.uvarint()), int64(in.uvarint())
		}
	}
	if fields&fieldReport != 0 {
		op.Report = &engine.Report{}
		for _, n := range reportFields(op.Report) {
			*n = int64(in.uvarint())
		}
	}
	if fields&fieldMaxKey != 0 {
		op.MaxKey = in.uint32()
	}
	return !in.bad && bits&^options == 0 && head&^(verbMask|headOptions)&^headOf(fields, bits) == 0
}

// headOf is the bits that the head of an operation with these fields and options may have.
func headOf(fields opFields, options byte) (head byte) {
	if fields&fieldWho != 0 {
		head |= headWho
	}
	if hasTokens(fields, options) {
		head |= headTokens
	}
	if fields&fieldMaxWait != 0 {
		head |= headMaxWait
	}
	return head
}

func (r *Reader) readLimit(l *engine.Limit) bool {
	switch id := r.in.uvarint(); {
	case r.in.bad || id > uint64(len(r.limits)):
		return false
	case id > 0:
		*l = r.limits[id-1]
		return true
	}
	*l = r.in.limit()
	r.limits = append(r.limits, *l)
	return !r.in.bad && l.Bounded()
}
