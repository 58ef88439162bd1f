package engine

import "encoding/binary"

// OpReader reads the bytes of an [OpWriter]. It trusts nothing: every length is compared with the bytes left, every number
// against its range, and bytes that no operation of this version can have are refused.
type OpReader struct {
	in     byteReader
	limits []Limit
	parts  []Op
}

// Reset makes the reader begin with b. Operations read before are no longer valid.
func (r *OpReader) Reset(b []byte) {
	r.in = byteReader{rest: b}
	if cap(r.parts) > keepOpParts {
		r.parts = nil
	}
	if cap(r.limits) > keepOpLimits {
		r.limits = nil
	}
	clear(r.parts) // so that it does not hold on to earlier operations
	r.limits, r.parts = r.limits[:0], r.parts[:0]
}

// More reports whether there is another operation to be read.
func (r *OpReader) More() bool { return len(r.in.rest) > 0 }

// Next reads the next operation, or returns [ErrOp], after which nothing more can be read. What op refers to is valid
// until the next Reset, and as long as the bytes are not changed.
func (r *OpReader) Next(op *Op) error {
	if !r.next(op) {
		r.in.rest = nil
		return ErrOp
	}
	return nil
}

func (r *OpReader) next(op *Op) bool {
	head := r.readHead(op)
	if r.in.bad || int(op.Verb) >= len(opLayouts) {
		return false
	}
	layout := &opLayouts[op.Verb]
	if !r.readFields(op, head, layout.fields, layout.options) {
		return false
	}
	if layout.fields&fieldParts != 0 && !r.readParts(op, layout.parts) {
		return false
	}
	return op.isWhole()
}

func (r *OpReader) readParts(op *Op, fields opFields) bool {
	n := r.in.uvarint()
	if r.in.bad || n > MaxParts {
		return false
	}
	first := len(r.parts)
	for range n {
		r.parts = append(r.parts, Op{})
		part := &r.parts[len(r.parts)-1]
		if !r.readFields(part, r.readHead(part), fields, 0) || part.Verb != Acquire {
			return false
		}
		if op.Verb == AcquireAll {
			part.Options = op.Options
		}
	}
	op.Parts = r.parts[first:len(r.parts):len(r.parts)]
	return true
}

// readHead begins an operation with its verb. It takes any verb from a separate byte, also one that fits the head.
func (r *OpReader) readHead(op *Op) (head byte) {
	head = r.in.byte()
	*op = Op{Verb: Verb(head & verbMask)}
	if op.Verb == verbFollows {
		op.Verb = Verb(r.in.byte())
	}
	return head
}

func (r *OpReader) readFields(op *Op, head byte, fields opFields, options byte) bool {
	in := &r.in
	var bits byte
	if head&headOptions != 0 {
		bits = in.byte()
		op.SetOptionBits(bits)
	}
	if fields&fieldLimit != 0 && !r.readLimit(&op.Limit) {
		return false
	}
	if fields&fieldKey != 0 {
		op.Key = in.take(in.uvarint())
	}
	if head&headWho != 0 {
		op.Who = in.take(in.uvarint())
	}
	if fields&fieldTokens != 0 {
		op.Tokens = usualTokens
	}
	if head&headTokens != 0 {
		op.Tokens = int64(in.uvarint())
	}
	if head&headMaxWait != 0 {
		op.MaxWait = in.varint()
	}
	if fields&fieldMaxKey != 0 {
		op.MaxKey = in.uint32()
	}
	return !in.bad && bits&^options == 0 && head&^(verbMask|headOptions)&^headOf(fields) == 0
}

// headOf is the bits that the head of an operation with these fields may have.
func headOf(fields opFields) (bits byte) {
	if fields&fieldWho != 0 {
		bits |= headWho
	}
	if fields&fieldTokens != 0 {
		bits |= headTokens
	}
	if fields&fieldMaxWait != 0 {
		bits |= headMaxWait
	}
	return bits
}

func (r *OpReader) readLimit(l *Limit) bool {
	switch id := r.in.uvarint(); {
	case r.in.bad || id > uint64(len(r.limits)):
		return false
	case id > 0:
		*l = r.limits[id-1]
		return true
	}
	*l = r.in.limit()
	r.limits = append(r.limits, *l)
	return !r.in.bad && l.canBeAsked()
}

// canBeRead reports whether a reader takes the operation once it is written, its limits aside.
func (o *Op) canBeRead(layout *opLayout) bool {
	if o.OptionBits()&^layout.options != 0 || len(o.Parts) > MaxParts {
		return false
	}
	for i := range o.Parts {
		if o.Parts[i].Verb != Acquire {
			return false
		}
	}
	if o.Verb.findsPolicy() && len(o.Key) > maxPolicyLookup {
		cut := *o
		cut.Key = o.Key[:maxPolicyLookup] // as it is written
		return cut.isWhole()
	}
	return o.isWhole()
}

// byteReader takes numbers and texts off the front of bytes. Once something did not fit it is bad, and gives zeros.
type byteReader struct {
	rest []byte
	bad  bool
}

func (r *byteReader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *byteReader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // most are short
		n := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *byteReader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *byteReader) uint32() uint32 {
	n := r.uvarint()
	if n > 1<<32-1 {
		r.fail()
	}
	return uint32(n)
}

func (r *byteReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *byteReader) limit() Limit {
	l := Limit{Algorithm: Algorithm(r.byte()), Span: Span(r.byte())}
	l.Capacity, l.Rate.Tokens, l.Rate.Period = int64(r.uvarint()), int64(r.uvarint()), int64(r.uvarint())
	return l
}

func (r *byteReader) fail() { r.rest, r.bad = nil, true }
