package opcodec

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// valid reports whether every field of an operation that was read is in its range.
func valid(op *engine.Op) bool {
	layout := &opLayouts[op.Verb]
	if !inRange(op, layout.fields) || layout.check != nil && !layout.check(op) {
		return false
	}
	return op.Verb != engine.Reserve || valid(&op.Parts[0])
}

// inRange reports whether fields of an operation are in the ranges that they have with every verb.
func inRange(op *engine.Op, fields opFields) bool {
	return (fields&fieldKey == 0 || len(op.Key) <= engine.MaxKeyBytes) &&
		(fields&fieldTokens == 0 || op.Tokens >= 0 && op.Tokens <= limits.MaxTokens) &&
		(fields&fieldMaxWait == 0 || op.MaxWait >= engine.NoWait && op.MaxWait <= limits.MaxDuration)
}

// asks is about a limit alone.
func asks(op *engine.Op) bool {
	contradicts := op.Options&engine.Force != 0 && (op.Options&engine.UpTo != 0 || op.MaxWait > 0)
	return !contradicts && op.KeepsValidly() && op.WeighsValidly() && op.SpreadsValidly() &&
		len(op.Who) <= engine.MaxHolderBytes && (len(op.Who) > 0 || !op.Limit.Algorithm.NeedsWho())
}

func asksAll(op *engine.Op) bool {
	for i := range op.Parts {
		if !inRange(&op.Parts[i], partFields) || !asks(&op.Parts[i]) {
			return false
		}
	}
	return len(op.Parts) > 0 && op.TreesValidly() && op.ElseValidly()
}

func checks(op *engine.Op) bool {
	return len(op.Key) <= maxPolicyLookup && len(op.Who) <= engine.MaxKeyBytes && op.Keep.Valid() && namesFields(op)
}

// namesFields reports whether a Check has fields exactly if NamedFields says so, and they can be some.
func namesFields(op *engine.Op) bool {
	if hasFields := op.Options&engine.NamedFields != 0; hasFields != (len(op.Args) > 0) || len(op.Args)%2 != 0 ||
		len(op.Args) > 2*engine.MaxFields || op.KeyFrom != 0 || op.KeyCount != 0 {
		return false
	}
	for i := 0; i < len(op.Args); i += 2 {
		if !engine.IsFieldName(op.Args[i]) || len(op.Args[i+1]) > engine.MaxKeyBytes {
			return false
		}
	}
	return true
}

// isPolicy is about policies, restrictions and scripts that are kept.
func isPolicy(op *engine.Op) bool {
	if findsPolicy(op.Verb) && len(op.Key) == maxPolicyLookup {
		named := *op
		named.Key = op.Key[:engine.MaxPolicyName]
		op = &named
	}
	return store.CheckPolicy(op) == nil
}

// runs is about a Command or Script: the declared keys are among the arguments, and can be keys.
func runs(op *engine.Op) bool {
	if len(op.Args) == 0 || uint64(op.KeyFrom)+uint64(op.KeyCount) > uint64(len(op.Args)) {
		return false
	}
	for _, key := range op.DeclaredKeys() {
		if len(key) > engine.MaxKeyBytes {
			return false
		}
	}
	return op.Verb == engine.Command || op.MarksValidly() && op.Tokens > 0
}

// expects is about an Expect: all its arguments are keys, and each has a fingerprint, or else it has the policies' sum.
func expects(op *engine.Op) bool {
	if len(op.Args) == 0 {
		return op.KeyFrom == 0 && op.ExpectsPolicies()
	}
	for _, key := range op.Args {
		if len(key) > engine.MaxKeyBytes {
			return false
		}
	}
	n := len(op.Args)
	return n <= engine.MaxExpected && op.KeyFrom == 0 && int(op.KeyCount) == n && len(op.Who) == n*engine.FingerprintBytes
}

func listsLog(op *engine.Op) bool { return op.Tokens > 0 && op.Tokens <= engine.MaxGrants }

// canBeReserved reports whether a Reserve may carry out an operation of a verb.
func canBeReserved(v engine.Verb) bool {
	return v == engine.Acquire || v == engine.AcquireAll || v == engine.Check || v == engine.AddCredits
}

func reserves(op *engine.Op) bool {
	if op.MaxWait < limits.MinDuration || len(op.Parts) != 1 {
		return false
	}
	request := &op.Parts[0]
	return canBeReserved(request.Verb) && request.Options&(engine.Peek|engine.FromPurses) == 0 &&
		(request.Verb != engine.Acquire || request.Limit.Algorithm.Keeps() || request.Limit.Algorithm == limits.Balance)
}

func settles(op *engine.Op) bool {
	for i := range op.Parts {
		if !inRange(&op.Parts[i], fieldTokens) {
			return false
		}
	}
	return hasPatterns(op)
}

// hasPatterns reports whether Args can be the patterns of keys that a user may change.
func hasPatterns(op *engine.Op) bool {
	for _, pattern := range op.Args {
		if len(pattern) > engine.MaxKeyBytes {
			return false
		}
	}
	return op.KeyFrom == 0 && op.KeyCount == 0
}

func extends(op *engine.Op) bool {
	return op.Tokens > 0 && op.Nth > 0 && op.Nth <= engine.MaxExtensions && (op.MaxWait == 0 || op.MaxWait >= limits.MinDuration) && hasPatterns(op)
}

func hasHolder(op *engine.Op) bool { return len(op.Who) > 0 && len(op.Who) <= engine.MaxHolderBytes }

// isOnLoan is about a holder's loan and its numbers.
func isOnLoan(op *engine.Op) bool {
	return hasHolder(op) && op.Loan != nil && op.Loan.Number != 0 && op.Loan.Number != op.Loan.Previous && op.Loan.Left >= 0 && op.Loan.Left <= limits.MaxTokens
}

func returns(op *engine.Op) bool { return isOnLoan(op) && op.Keep >= 0 }

func lends(op *engine.Op) bool {
	return isOnLoan(op) && op.Limit.Algorithm.CanBeLent() && (op.MaxWait == 0 || op.MaxWait >= limits.MinDuration) && merges(op)
}

// merges is about the requests that wait for a Lend.
func merges(op *engine.Op) bool {
	if op.Options&engine.Merged == 0 {
		return true
	}
	return op.MaxWait == 0 && op.Loan.Waiting > 0 && op.Loan.Waiting <= engine.MaxWaiting && op.Loan.Each > 0 && op.Loan.Each <= limits.MaxTokens
}

func prepares(op *engine.Op) bool { return op.Limit.Algorithm.IsPurse() }

func deposits(op *engine.Op) bool {
	return op.Loan != nil && op.Loan.Number != 0 && op.Loan.Left == 0
}

func carries(op *engine.Op) bool {
	return op.Limit.Algorithm.CanBeLent() && op.Tokens > 0 && op.PriorAt > 0
}

func addsCredits(op *engine.Op) bool { return op.Limit.Algorithm == limits.Balance && op.Tokens > 0 }

func adapts(op *engine.Op) bool { return op.Report != nil && op.Report.Valid() }

// canBeRead reports whether a reader takes the operation once it is written, its limits aside.
func canBeRead(op *engine.Op, layout *opLayout) bool {
	if op.OptionBits()&^layout.options != 0 || op.Database != 0 || len(op.Parts) > engine.MaxParts {
		return false
	}
	if op.Verb == engine.Reserve {
		return valid(op) && canBeRead(&op.Parts[0], &opLayouts[op.Parts[0].Verb])
	}
	for i := range op.Parts {
		part := &op.Parts[i]
		own := part.Options
		if op.Verb == engine.AcquireAll {
			own &^= op.Options
		}
		if part.Verb != engine.Acquire || byte(own)&^layout.partOptions != 0 {
			return false
		}
	}
	return valid(op)
}
