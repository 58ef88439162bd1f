package opcodec

import "github.com/stintdb/stint/engine"

// valid reports whether every field of an operation that was read is in its range.
func valid(op *engine.Op) bool {
	switch op.Verb {
	case engine.Restrict, engine.KeepOverflow, engine.KeepScript, engine.DropScripts:
		return op.CheckPolicy() == nil
	case engine.SetPolicy, engine.SetOverride, engine.DropPolicy:
		named := *op
		if findsPolicy(op.Verb) && len(op.Key) == maxPolicyLookup {
			named.Key = op.Key[:engine.MaxPolicyName]
		}
		return named.CheckPolicy() == nil
	case engine.AcquireAll:
		for i := range op.Parts {
			if !asksWithin(&op.Parts[i]) {
				return false
			}
		}
		return len(op.Parts) > 0 && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens && waitsWithin(op) && op.TreesValidly()
	case engine.Command:
		return validArgs(op)
	case engine.Script:
		return validArgs(op) && op.MarksValidly() && op.Tokens > 0 && op.Tokens <= engine.MaxTokens
	case engine.Acquire:
		return asksWithin(op)
	case engine.Check:
		return len(op.Key) <= maxPolicyLookup && len(op.Who) <= engine.MaxKeyBytes && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens && waitsWithin(op) && op.Keep.Valid() && validFields(op)
	case engine.Release:
		return holdsWithin(op)
	case engine.Reserve:
		return len(op.Key) <= engine.MaxKeyBytes && op.MaxWait >= engine.MinDuration && op.MaxWait <= engine.MaxDuration &&
			len(op.Parts) == 1 && reservesWithin(&op.Parts[0])
	case engine.Settle:
		return len(op.Key) <= engine.MaxKeyBytes && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens && settlesWithin(op)
	case engine.Lend:
		return lendsWithin(op) && op.Limit.Algorithm.CanBeLent() && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens &&
			(op.MaxWait == 0 || op.MaxWait >= engine.MinDuration && op.MaxWait <= engine.MaxDuration) && mergesWithin(op)
	case engine.Carry:
		return len(op.Key) <= engine.MaxKeyBytes && op.Limit.Algorithm.CanBeLent() && op.Tokens > 0 && op.Tokens <= engine.MaxTokens && op.PriorAt > 0
	case engine.Return:
		return lendsWithin(op)
	case engine.Prepare:
		return len(op.Key) <= engine.MaxKeyBytes && op.Limit.Algorithm.Home() != engine.NoAlgorithm
	case engine.Deposit:
		return len(op.Key) <= engine.MaxKeyBytes && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens && op.Loan != nil && op.Loan.Number != 0 && op.Loan.Left == 0
	case engine.Adapt:
		return len(op.Key) <= engine.MaxKeyBytes && op.Report != nil && op.Report.Valid()
	case engine.Void:
		return holdsWithin(op)
	case engine.ListLog:
		return len(op.Key) <= engine.MaxKeyBytes && op.Tokens > 0 && op.Tokens <= engine.MaxGrants
	}
	return len(op.Key) <= engine.MaxKeyBytes && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens
}

// canBeReserved reports whether a Reserve may carry out an operation of a verb.
func canBeReserved(v engine.Verb) bool {
	return v == engine.Acquire || v == engine.AcquireAll || v == engine.Check
}

// reservesWithin reports whether a Reserve may carry out an operation.
func reservesWithin(request *engine.Op) bool {
	return canBeReserved(request.Verb) && request.Options&engine.Peek == 0 && valid(request) &&
		(request.Verb != engine.Acquire || request.Limit.Algorithm.Keeps())
}

// lendsWithin reports whether the holder of a loan and its numbers are in their ranges.
func lendsWithin(op *engine.Op) bool {
	return holdsWithin(op) && op.Loan != nil && op.Loan.Number != 0 && op.Loan.Number != op.Loan.Previous && op.Loan.Left >= 0 && op.Loan.Left <= engine.MaxTokens
}

// mergesWithin reports whether the requests that wait for a Lend are in their ranges.
func mergesWithin(op *engine.Op) bool {
	if op.Options&engine.Merged == 0 {
		return true
	}
	return op.MaxWait == 0 && op.Loan.Waiting > 0 && op.Loan.Waiting <= engine.MaxWaiting && op.Loan.Each > 0 && op.Loan.Each <= engine.MaxTokens
}

// holdsWithin reports whether a key and its holder are in their ranges.
func holdsWithin(op *engine.Op) bool {
	return len(op.Key) <= engine.MaxKeyBytes && len(op.Who) > 0 && len(op.Who) <= engine.MaxHolderBytes
}

// settlesWithin reports whether the amounts and the patterns of a Settle are in their ranges.
func settlesWithin(op *engine.Op) bool {
	for i := range op.Parts {
		if op.Parts[i].Tokens < 0 || op.Parts[i].Tokens > engine.MaxTokens {
			return false
		}
	}
	for _, pattern := range op.Args {
		if len(pattern) > engine.MaxKeyBytes {
			return false
		}
	}
	return op.KeyFrom == 0 && op.KeyCount == 0
}

// validArgs reports whether the declared keys are among the arguments, and can be keys.
func validArgs(op *engine.Op) bool {
	if len(op.Args) == 0 || uint64(op.KeyFrom)+uint64(op.KeyCount) > uint64(len(op.Args)) {
		return false
	}
	for _, key := range op.DeclaredKeys() {
		if len(key) > engine.MaxKeyBytes {
			return false
		}
	}
	return true
}

// validFields reports whether a Check has fields exactly if NamedFields says so, and they can be some.
func validFields(op *engine.Op) bool {
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

// asksWithin reports whether a limit is asked within what can be decided.
func asksWithin(op *engine.Op) bool {
	contradicts := op.Options&engine.Force != 0 && (op.Options&engine.UpTo != 0 || op.MaxWait > 0)
	return !contradicts && len(op.Key) <= engine.MaxKeyBytes && op.Tokens >= 0 && op.Tokens <= engine.MaxTokens &&
		waitsWithin(op) && op.KeepsValidly() && op.WeighsValidly() &&
		len(op.Who) <= engine.MaxHolderBytes && (len(op.Who) > 0 || !op.Limit.Algorithm.NeedsWho())
}

// waitsWithin reports whether the longest wait is in its range.
func waitsWithin(op *engine.Op) bool {
	return op.MaxWait >= engine.NoWait && op.MaxWait <= engine.MaxDuration
}

// canBeRead reports whether a reader takes the operation once it is written, its limits aside.
func canBeRead(op *engine.Op, layout *opLayout) bool {
	if op.OptionBits()&^layout.options != 0 || len(op.Parts) > engine.MaxParts {
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
	if findsPolicy(op.Verb) && len(op.Key) > maxPolicyLookup {
		cut := *op
		cut.Key = op.Key[:maxPolicyLookup] // as it is written
		return valid(&cut)
	}
	return valid(op)
}
