package opcodec

import (
	"encoding/binary"
	"errors"

	"github.com/stintdb/stint/engine"
)

// Operations as bytes, for a log entry and between nodes. An operation is a head and the fields that its verb has,
// in this order; fields that a verb does not use are left out.
//
//	1       verb in the low 4 bits, or 0x0f: the verb is the next byte;
//	        0x10 options follow, 0x20 tokens other than 1, 0x40 a longest wait, 0x80 Who
//	1       verb, if it is 15 or more
//	1       options; 0x80: a Keep follows; 0x10: a PriorAt follows, where the verb has one;
//	        0x08: a weight follows, where the verb has one
//	varint  limit: its number in this buffer, from 1 on; or 0, and the limit itself, which takes the next number:
//	        1 algorithm, 1 span, varints capacity, rate's tokens, rate's period
//	varint  length of the key, or of the policy's name, or, of a Script with WriteOnly alone, of its marks; the key
//	varint  length of Who; Who
//	varint  tokens
//	varint  longest wait, zigzag
//	varint  the Keep, zigzag: tokens, or below zero a share of the capacity in thousandths of a percent
//	varint  PriorAt
//	varint  the weight of a member
//	varints of a loan: number, previous number, tokens left; of a Lend with Merged: requests that wait, tokens of each
//	varints of a report: good calls, bad ones, the time between two decisions, down, up, the pause
//	varint  most bytes of a key
//	varint  number of arguments, of a Check only with NamedFields; of each a varint of its length, and the argument; varints: position of the first declared
//	        key, number of declared keys
//	...     the operation that a Reserve carries out
//	varint  number of parts; each is an operation again, with the fields that parts have
//
// Parts of an AcquireAll share its options and its longest wait; FixedCost alone is their own. Where a policy is only looked for, a name longer than any can have is cut
// off behind MaxPolicyName+1 bytes: there is still none of that name.
const (
	verbMask     = 0x0f
	verbFollows  = verbMask // in place of a verb
	headOptions  = 0x10
	headTokens   = 0x20
	headMaxWait  = 0x40
	headWho      = 0x80
	optionKeep   = 0x80
	optionPrior  = 0x10 // no option of the verbs with a PriorAt
	optionWeight = 0x08 // no option of the verbs with a weight, nor of parts
	usualTokens  = 1
	keepOpParts  = 1 << 12 // parts, and limits, that a reader keeps room for
	keepOpLimits = 1 << 12
	keepOpArgs   = 1 << 12
)

// ErrInvalid refuses bytes that are no operation, or no result, of this version.
var ErrInvalid = errors.New("not an operation that this version knows")

// opFields says which fields an operation has in its bytes.
type opFields uint16

const (
	fieldKey opFields = 1 << iota
	fieldLimit
	fieldWho
	fieldTokens
	fieldMaxWait
	fieldMaxKey
	fieldParts
	fieldArgs
	fieldKeep
	fieldCost // tokens, with FixedCost alone
	fieldRequest
	fieldLoan
	fieldPrior
	fieldWeight
	fieldReport
	fieldMarks // the key, with WriteOnly alone
)

// opLayout is the layout of a verb's bytes.
type opLayout struct {
	fields, parts opFields
	options       byte // bits of Op.OptionBits that may be set
	partOptions   byte // those that a part may have alone
}

// hasArgs reports whether the bytes of an operation have arguments.
func (l *opLayout) hasArgs(op *engine.Op) bool {
	return l.fields&fieldArgs != 0 || op.Verb == engine.Check && op.Options&engine.NamedFields != 0 || op.Verb == engine.Settle && op.Options&engine.DeclaredOnly != 0
}

// The fields of the parts of a request, and of those of a policy.
const (
	partFields       = fieldKey | fieldLimit | fieldWho | fieldTokens | fieldKeep | fieldPrior | fieldWeight
	policyPartFields = fieldKey | fieldLimit | fieldWho | fieldCost | fieldKeep | fieldWeight
)

// opLayouts has a row for every verb. Tests add more.
var opLayouts = []opLayout{
	engine.Acquire:     {fields: fieldKey | fieldLimit | fieldWho | fieldTokens | fieldMaxWait | fieldKeep | fieldPrior | fieldWeight, options: byte(engine.Peek | engine.UpTo | engine.Force)},
	engine.AcquireAll:  {fields: fieldTokens | fieldMaxWait | fieldParts, parts: partFields, options: byte(engine.Peek), partOptions: byte(engine.FixedCost)},
	engine.Check:       {fields: fieldKey | fieldWho | fieldTokens | fieldMaxKey | fieldMaxWait | fieldKeep | fieldPrior, options: byte(engine.Peek | engine.NamedFields)},
	engine.Look:        {fields: fieldKey},
	engine.Refund:      {fields: fieldKey | fieldTokens},
	engine.Release:     {fields: fieldKey | fieldWho},
	engine.Leases:      {fields: fieldKey},
	engine.Delete:      {fields: fieldKey},
	engine.Flush:       {},
	engine.SetPolicy:   {fields: fieldKey | fieldParts, parts: policyPartFields, options: byte(engine.Shadow | engine.Strict | engine.NamedFields), partOptions: byte(engine.FixedCost)},
	engine.DropPolicy:  {fields: fieldKey},
	engine.SetOverride: {fields: fieldKey | fieldWho | fieldParts, parts: policyPartFields, options: byte(engine.NamedFields), partOptions: byte(engine.FixedCost)},
	engine.Restrict:    {fields: fieldKey | fieldWho, options: byte(engine.DenyNew|engine.OverflowNew) << 1},

	engine.Command: {fields: fieldArgs, options: byte(engine.Peek)},
	engine.Script:  {fields: fieldMarks | fieldArgs | fieldWho | fieldTokens | fieldPrior, options: byte(engine.Peek | engine.DeclaredOnly | engine.AlsoDeclared | engine.WriteOnly)},

	engine.ListLog: {fields: fieldKey | fieldTokens},

	engine.KeepScript:  {fields: fieldWho, options: byte(engine.Loaded)},
	engine.DropScripts: {},

	engine.Reserve: {fields: fieldKey | fieldMaxWait | fieldRequest},
	engine.Settle:  {fields: fieldKey | fieldTokens | fieldParts | fieldPrior, parts: fieldCost, options: byte(engine.Cancel | engine.DeclaredOnly), partOptions: byte(engine.FixedCost)},

	engine.Lend:   {fields: fieldKey | fieldLimit | fieldWho | fieldTokens | fieldMaxWait | fieldPrior | fieldLoan, options: byte(engine.Merged)},
	engine.Return: {fields: fieldKey | fieldWho | fieldLoan},
	engine.Void:   {fields: fieldKey | fieldWho, options: byte(engine.Force)},
	engine.Loans:  {fields: fieldKey},

	engine.Prepare: {fields: fieldKey | fieldLimit, options: byte(engine.Cancel | engine.Force)},
	engine.Deposit: {fields: fieldKey | fieldTokens | fieldLoan, options: byte(engine.Force)},
	engine.Carry:   {fields: fieldKey | fieldLimit | fieldTokens | fieldPrior},

	engine.ListMembers: {fields: fieldKey},
	engine.Adapt:       {fields: fieldKey | fieldReport},

	engine.KeepOverflow: {fields: fieldKey | fieldWho | fieldParts, parts: fieldLimit, options: (engine.MaxParts - 1) << 1},
}

// Writer writes operations as bytes. It describes each limit once for all that is written between two Resets, which
// one [Reader] has to read from the beginning. The zero value is ready for use.
type Writer struct {
	limits     map[engine.Limit]uint64
	last       engine.Limit
	lastID     uint64
	unreadable bool
}

// Reset makes the writer begin another buffer.
func (w *Writer) Reset() {
	clear(w.limits)
	w.last, w.lastID, w.unreadable = engine.Limit{}, 0, false
}

// Err returns [ErrInvalid] if something was appended since the last Reset that a [Reader] would refuse, or that has a limit
// which [engine.Limit.Check] does not let in. It must not be written to a log: no replica could carry it out, now or ever.
func (w *Writer) Err() error {
	if w.unreadable {
		return ErrInvalid
	}
	return nil
}

// Append appends an operation to b. Fields that its verb has no use for are not kept.
func (w *Writer) Append(b []byte, op *engine.Op) []byte {
	layout := &opLayouts[op.Verb]
	w.unreadable = w.unreadable || !canBeRead(op, layout)
	b = w.appendFields(b, op, layout.fields, op.OptionBits())
	if layout.hasArgs(op) {
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
	at := len(b)
	if op.Verb < verbFollows {
		b = append(b, byte(op.Verb))
	} else {
		b = append(b, verbFollows, byte(op.Verb))
	}
	if fields&fieldKeep != 0 && op.Keep != 0 {
		options |= optionKeep
	}
	if fields&fieldPrior != 0 && op.PriorAt != 0 {
		options |= optionPrior
	}
	if fields&fieldWeight != 0 && op.Weight != 0 {
		options |= optionWeight
	}
	if options != 0 {
		b[at] |= headOptions
		b = append(b, options)
	}
	if fields&fieldLimit != 0 {
		b = w.appendLimit(b, &op.Limit)
	}
	if hasKey(fields, options) {
		key := op.Key
		if findsPolicy(op.Verb) && len(key) > maxPolicyLookup {
			key = key[:maxPolicyLookup]
		}
		b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
	}
	if fields&fieldWho != 0 && len(op.Who) > 0 {
		b[at] |= headWho
		b = append(binary.AppendUvarint(b, uint64(len(op.Who))), op.Who...)
	}
	if hasTokens(fields, options) && op.Tokens != usualTokens {
		b[at] |= headTokens
		b = binary.AppendUvarint(b, uint64(op.Tokens))
	}
	if fields&fieldMaxWait != 0 && op.MaxWait != 0 {
		b[at] |= headMaxWait
		b = binary.AppendVarint(b, op.MaxWait)
	}
	if options&optionKeep != 0 && fields&fieldKeep != 0 {
		b = binary.AppendVarint(b, int64(op.Keep))
	}
	if fields&fieldPrior != 0 && op.PriorAt != 0 {
		b = binary.AppendUvarint(b, uint64(op.PriorAt))
	}
	if fields&fieldWeight != 0 && op.Weight != 0 {
		b = binary.AppendUvarint(b, uint64(op.Weight))
	}
	if fields&fieldLoan != 0 && op.Loan != nil {
		b = binary.AppendUvarint(b, op.Loan.Number)
		b = binary.AppendUvarint(b, op.Loan.Previous)
		b = binary.AppendUvarint(b, uint64(op.Loan.Left))
		if op.Verb == engine.Lend && op.Options&engine.Merged != 0 {
			b = binary.AppendUvarint(b, uint64(op.Loan.Waiting))
			b = binary.AppendUvarint(b, uint64(op.Loan.Each))
		}
	}
	if fields&fieldReport != 0 && op.Report != nil {
		for _, n := range reportFields(op.Report) {
			b = binary.AppendUvarint(b, uint64(*n))
		}
	}
	if fields&fieldMaxKey != 0 {
		b = binary.AppendUvarint(b, uint64(op.MaxKey))
	}
	return b
}

// reportFields are the numbers of a report in the order in which they are written.
func reportFields(r *engine.Report) [6]*int64 {
	return [...]*int64{&r.Good, &r.Bad, &r.Every, &r.Down, &r.Up, &r.Pause}
}

// hasKey reports whether an operation with these fields and options has a key.
func hasKey(fields opFields, options byte) bool {
	return fields&fieldKey != 0 || fields&fieldMarks != 0 && options&byte(engine.WriteOnly) != 0
}

// hasTokens reports whether an operation with these fields and options has tokens.
func hasTokens(fields opFields, options byte) bool {
	return fields&fieldTokens != 0 || fields&fieldCost != 0 && options&byte(engine.FixedCost) != 0
}

// findsPolicy reports whether an operation is on a policy that must be there.
func findsPolicy(v engine.Verb) bool {
	return v == engine.Check || v == engine.DropPolicy || v == engine.SetOverride
}

const maxPolicyLookup = engine.MaxPolicyName + 1

func (w *Writer) appendLimit(b []byte, l *engine.Limit) []byte {
	if *l == w.last && w.lastID > 0 {
		return binary.AppendUvarint(b, w.lastID)
	}
	id, known := w.limits[*l]
	if known {
		b = binary.AppendUvarint(b, id)
	} else {
		if w.limits == nil {
			w.limits = map[engine.Limit]uint64{}
		}
		id = uint64(len(w.limits)) + 1
		w.limits[*l] = id
		w.unreadable = w.unreadable || l.Check() != nil
		b = l.Append(append(b, 0))
	}
	w.last, w.lastID = *l, id
	return b
}
