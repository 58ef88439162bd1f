package opcodec

import (
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
//	        as [limits.Limit.Append] writes it
//	varint  length of the key, or of the policy's name, or, of a Script with WriteOnly alone, of its marks; the key
//	varint  length of Who; Who
//	varint  tokens
//	varint  longest wait, zigzag
//	varint  the Keep, zigzag: tokens, or below zero a share of the capacity in thousandths of a percent
//	varint  PriorAt
//	varint  the weight of a member
//	varints of a loan: number, previous number, tokens left; of a Lend with Merged: requests that wait, tokens of each
//	varints of a report: good calls, bad ones, the time between two decisions, down, up, the pause
//	varint  most bytes of a key, or the number of an extension
//	varint  number of arguments, of a Check only with NamedFields; of each a varint of its length, and the argument; varints: position of the first declared
//	        key, number of declared keys
//	...     the operation that a Reserve carries out
//	varint  number of parts; each is an operation again, with the fields that parts have
//
// Parts of an AcquireAll share its options and its longest wait; FixedCost, Spread and Else are their own. Where a policy is only
// looked for, a name longer than any can have is cut off after MaxPolicyName+1 bytes: there is still none of that
// name.
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

// opFields says which fields an operation has in its bytes. A field that is left out where it has its usual value has
// the bit of its flag: bits 0 to 7 are the flags of the head, 8 to 15 the flags of the options.
type opFields uint32

const (
	fieldTokens  opFields = headTokens
	fieldMaxWait opFields = headMaxWait
	fieldWho     opFields = headWho
	fieldWeight  opFields = optionWeight << 8
	fieldPrior   opFields = optionPrior << 8
	fieldKeep    opFields = optionKeep << 8

	flaggedFields = fieldTokens | fieldMaxWait | fieldWho | fieldWeight | fieldPrior | fieldKeep
)

const (
	fieldKey opFields = 1 << (16 + iota)
	fieldLimit
	fieldMaxKey
	fieldParts
	fieldArgs
	fieldCost // tokens, with FixedCost alone
	fieldRequest
	fieldLoan
	fieldReport
	fieldMarks // the key, with WriteOnly alone
	fieldNth
)

// with returns the fields of an operation with some options.
func (f opFields) with(options byte) opFields {
	switch {
	case f&fieldCost != 0 && options&byte(engine.FixedCost) != 0:
		return f | fieldTokens
	case f&fieldMarks != 0 && options&byte(engine.WriteOnly) != 0:
		return f | fieldKey
	}
	return f
}

// of returns the fields without the ones that an operation leaves out.
func (f opFields) of(op *engine.Op) opFields {
	if op.Tokens == usualTokens {
		f &^= fieldTokens
	}
	if op.MaxWait == 0 {
		f &^= fieldMaxWait
	}
	if len(op.Who) == 0 {
		f &^= fieldWho
	}
	if op.Weight == 0 {
		f &^= fieldWeight
	}
	if op.PriorAt == 0 {
		f &^= fieldPrior
	}
	if op.Keep == 0 {
		f &^= fieldKeep
	}
	if op.Loan == nil {
		f &^= fieldLoan
	}
	if op.Report == nil {
		f &^= fieldReport
	}
	return f
}

// opLayout is the layout of a verb's bytes.
type opLayout struct {
	fields, parts opFields
	options       byte                     // bits of Op.OptionBits that may be set
	partOptions   byte                     // options that only a part may have
	check         func(op *engine.Op) bool // reports whether the operation is in its ranges, beyond the ranges of [inRange]; nil if there are no others
}

// takesArgs reports whether the bytes of an operation have arguments.
func (l *opLayout) takesArgs(op *engine.Op) bool {
	return l.fields&fieldArgs != 0 || op.Verb == engine.Check && op.Options&engine.NamedFields != 0 || (op.Verb == engine.Settle || op.Verb == engine.Extend) && op.Options&engine.DeclaredOnly != 0
}

// The fields of the parts of a request, and of the parts of a policy.
const (
	partFields       = fieldKey | fieldLimit | fieldWho | fieldTokens | fieldKeep | fieldPrior | fieldWeight
	policyPartFields = fieldKey | fieldLimit | fieldWho | fieldCost | fieldKeep | fieldWeight
)

// opLayouts has a row for every verb. Tests add more.
var opLayouts = []opLayout{
	engine.Acquire:     {fields: fieldKey | fieldLimit | fieldWho | fieldTokens | fieldMaxWait | fieldKeep | fieldPrior | fieldWeight, options: byte(engine.Peek | engine.UpTo | engine.Force | engine.Spread), check: asks},
	engine.AcquireAll:  {fields: fieldTokens | fieldMaxWait | fieldParts, parts: partFields, options: byte(engine.Peek | engine.FromPurses), partOptions: byte(engine.FixedCost | engine.Spread | engine.Else), check: asksAll},
	engine.Check:       {fields: fieldKey | fieldWho | fieldTokens | fieldMaxKey | fieldMaxWait | fieldKeep | fieldPrior, options: byte(engine.Peek | engine.NamedFields | engine.FromPurses), check: checks},
	engine.Look:        {fields: fieldKey},
	engine.Refund:      {fields: fieldKey | fieldTokens},
	engine.Release:     {fields: fieldKey | fieldWho, check: hasHolder},
	engine.Leases:      {fields: fieldKey},
	engine.Delete:      {fields: fieldKey},
	engine.Flush:       {},
	engine.SetPolicy:   {fields: fieldKey | fieldParts, parts: policyPartFields, options: byte(engine.Shadow | engine.Strict | engine.NamedFields), partOptions: byte(engine.FixedCost | engine.Spread | engine.Else), check: isPolicy},
	engine.DropPolicy:  {fields: fieldKey, check: isPolicy},
	engine.SetOverride: {fields: fieldKey | fieldWho | fieldParts, parts: policyPartFields, options: byte(engine.NamedFields), partOptions: byte(engine.FixedCost | engine.Spread | engine.Else), check: isPolicy},
	engine.Restrict:    {fields: fieldKey | fieldWho, options: byte(engine.DenyNew|engine.OverflowNew) << 1, check: isPolicy},

	engine.Command: {fields: fieldArgs, options: byte(engine.Peek), check: runs},
	engine.Script:  {fields: fieldMarks | fieldArgs | fieldWho | fieldTokens | fieldPrior, options: byte(engine.Peek | engine.DeclaredOnly | engine.AlsoDeclared | engine.WriteOnly), check: runs},

	engine.ListLog: {fields: fieldKey | fieldTokens, check: listsLog},

	engine.KeepScript:  {fields: fieldWho, options: byte(engine.Loaded), check: isPolicy},
	engine.DropScripts: {check: isPolicy},

	engine.Reserve: {fields: fieldKey | fieldMaxWait | fieldRequest, check: reserves},
	engine.Settle:  {fields: fieldKey | fieldTokens | fieldParts | fieldPrior, parts: fieldCost, options: byte(engine.Cancel | engine.DeclaredOnly), partOptions: byte(engine.FixedCost), check: settles},
	engine.Extend:  {fields: fieldKey | fieldTokens | fieldMaxWait | fieldPrior | fieldNth, options: byte(engine.UpTo | engine.DeclaredOnly), check: extends},

	engine.Lend:   {fields: fieldKey | fieldLimit | fieldWho | fieldTokens | fieldMaxWait | fieldPrior | fieldLoan, options: byte(engine.Merged | engine.Whole), check: lends},
	engine.Return: {fields: fieldKey | fieldWho | fieldKeep | fieldLoan, check: returns},
	engine.Void:   {fields: fieldKey | fieldWho, options: byte(engine.Force), check: hasHolder},
	engine.Loans:  {fields: fieldKey},

	engine.Prepare: {fields: fieldKey | fieldLimit, options: byte(engine.Cancel | engine.Force), check: prepares},
	engine.Deposit: {fields: fieldKey | fieldTokens | fieldLoan, options: byte(engine.Force), check: deposits},
	engine.Carry:   {fields: fieldKey | fieldLimit | fieldTokens | fieldPrior, check: carries},

	engine.ListMembers: {fields: fieldKey},
	engine.Adapt:       {fields: fieldKey | fieldReport, check: adapts},

	engine.Fingerprint: {fields: fieldKey},
	engine.Expect:      {fields: fieldArgs | fieldWho, check: expects},
	engine.ListWindows: {fields: fieldKey},

	engine.AddCredits:  {fields: fieldKey | fieldLimit | fieldTokens | fieldPrior, check: addsCredits},
	engine.ListCredits: {fields: fieldKey},

	engine.KeepOverflow: {fields: fieldKey | fieldWho | fieldParts, parts: fieldLimit, options: (engine.MaxParts - 1) << 1, check: isPolicy},
}

// findsPolicy reports whether an operation is on a policy that must be there.
func findsPolicy(v engine.Verb) bool {
	return v == engine.Check || v == engine.DropPolicy || v == engine.SetOverride
}

// maxPolicyLookup is where the name of such a policy is cut off.
const maxPolicyLookup = engine.MaxPolicyName + 1
