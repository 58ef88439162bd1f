package limiter

import (
	"bytes"
	"fmt"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

var (
	optPeek   = flag("PEEK", engine.Peek)
	optUpTo   = flag("UPTO", engine.UpTo)
	optForce  = flag("FORCE", engine.Force, "UPTO", "MAXWAIT", "BLOCK", "KEEP")
	optShadow = flag("SHADOW", engine.Shadow)
	optStrict = flag("STRICT", engine.Strict)

	optTokens   = command.Option{Name: "TOKENS", HasValue: true, Set: setTokens}
	optMaxWait  = command.Option{Name: "MAXWAIT", HasValue: true, Set: setMaxWait}
	optBlock    = command.Option{Name: "BLOCK", HasValue: true, Excludes: []string{"MAXWAIT", "KEEP"}, Set: setBlock}
	optPriority = command.Option{Name: "PRIORITY", HasValue: true, Set: setPriority}
	optCost     = command.Option{Name: "COST", HasValue: true, Set: setCost}
	optKeep     = command.Option{Name: "KEEP", HasValue: true, Excludes: []string{"MAXWAIT"}, Set: setKeep}
	optSpread   = command.Option{Name: "SPREAD", Set: setSpread}
	optWith     = command.Option{Name: "WITH", SetRest: setWith}
)

// flag is an option without a value.
func flag(name string, option engine.Option, excludes ...string) command.Option {
	return command.Option{Name: name, Excludes: excludes, Set: func(_ *command.Request, op *engine.Op, _ []byte) error {
		op.Options |= option
		return nil
	}}
}

func setTokens(_ *command.Request, op *engine.Op, value []byte) (err error) {
	op.Tokens, err = command.ParseIntegerBetween("TOKENS", value, 1, limits.MaxTokens)
	return err
}

func setMaxWait(r *command.Request, op *engine.Op, value []byte) (err error) {
	op.MaxWait, err = r.Duration("MAXWAIT", value)
	return err
}

func setBlock(r *command.Request, op *engine.Op, value []byte) (err error) {
	r.Hold = true
	op.MaxWait, err = r.Duration("BLOCK", value)
	return err
}

// usualPriority is the priority of a request that waits without PRIORITY: others can be more urgent, or less.
const usualPriority = 5

func setPriority(r *command.Request, _ *engine.Op, value []byte) error {
	n, err := command.ParseIntegerBetween("PRIORITY", value, 0, command.MaxPriority)
	r.Wait = &command.Wait{Priority: int(n)}
	return err
}

// waitForPlace makes a request with BLOCK wait for a place among the leases of its first concurrency limit, if it has
// one. Whether a policy has one is known when the wait begins.
func waitForPlace(r *command.Request, op *engine.Op) error {
	if !r.Hold && r.Wait == nil {
		return nil
	}
	first := op.FirstLease()
	if first == len(op.Parts) && op.Verb != engine.Check || !r.Hold {
		if r.Wait != nil {
			return errPriority
		}
		return nil
	}
	if r.Wait == nil {
		r.Wait = &command.Wait{Priority: usualPriority}
	}
	r.Wait.Place, r.Wait.Keys, r.Wait.Timeout = true, 1, op.MaxWait
	if op.Options&engine.Peek != 0 { // which returns the delay, and is answered at once
		r.Wait = nil
	}
	if first < 0 { // no reply of a granted lease is held back
		r.Hold, op.MaxWait = false, 0
	}
	return nil
}

func setCost(_ *command.Request, op *engine.Op, value []byte) (err error) {
	most := int64(limits.MaxTokens)
	if a := op.Limit.Algorithm; a == limits.Concurrency || a == limits.Penalty {
		most = 1
	}
	op.Options |= engine.FixedCost
	op.Tokens, err = command.ParseIntegerBetween("COST", value, 0, most)
	return err
}

func setKeep(_ *command.Request, op *engine.Op, value []byte) error {
	if limit := op.Limit.Algorithm; op.Verb == engine.Acquire && !limit.Keeps() {
		return errKeepsNothing.With(specOf(limit).word)
	}
	keep, ok := parseKeep(value)
	if !ok {
		return command.ArgumentError("KEEP", fmt.Sprintf("must be an integer between 0 and %d, or a percentage between 0%% and 100%% with at most three decimals", limits.MaxTokens), value)
	}
	if op.Keep = keep; keep == 0 {
		op.Keep = engine.KeepNothing
	}
	return nil
}

func setSpread(_ *command.Request, op *engine.Op, _ []byte) error {
	if limit := op.Limit.Algorithm; !limit.Spreads() {
		return errSpreadsNothing.With(specOf(limit).word)
	}
	op.Options |= engine.Spread
	return nil
}

// parseKeep parses a number of tokens, such as 50, or a share of the capacity, such as 12.5%.
func parseKeep(text []byte) (engine.Keep, bool) {
	share, isShare := bytes.CutSuffix(text, []byte("%"))
	if !isShare {
		n, ok := command.ParseInteger(text)
		return engine.KeepTokens(n), ok && n >= 0 && n <= limits.MaxTokens
	}
	whole, decimals, isDecimal := bytes.Cut(share, []byte("."))
	for len(whole) > 1 && whole[0] == '0' {
		whole = whole[1:]
	}
	if isDecimal && len(decimals) == 0 || len(decimals) > 3 || len(whole) > 3 {
		return 0, false
	}
	var digits [6]byte
	n := copy(digits[:], whole)
	n += copy(digits[n:], decimals)
	n += copy(digits[n:], "000"[len(decimals):])
	thousandths, ok := command.ParseInteger(digits[:n])
	isDigit := len(whole) > 0 && whole[0] >= '0' && whole[0] <= '9' // no sign
	return engine.KeepPercent(thousandths), ok && isDigit && thousandths <= engine.MaxKeepPercent
}

// tokens parses the optional number of tokens after a limit, and returns the remaining words.
func tokens(op *engine.Op, name string, words [][]byte) (rest [][]byte, err error) {
	if len(words) == 0 || !command.LooksLikeNumber(words[0]) {
		return words, nil
	}
	op.Tokens, err = command.ParseIntegerBetween(name, words[0], 1, limits.MaxTokens)
	return words[1:], err
}

// setWith parses the fields that replace {name} in a policy's limits.
func setWith(r *command.Request, op *engine.Op, words [][]byte) error {
	if len(words) == 0 || len(words)%2 != 0 {
		return errFieldValue
	}
	if len(words) > 2*engine.MaxFields {
		return errTooManyFields.With(engine.MaxFields)
	}
	for i := 0; i < len(words); i += 2 {
		name, value := words[i], words[i+1]
		if !engine.IsFieldName(name) {
			return errFieldName.With(engine.MaxFieldName, command.Truncate(name, 64))
		}
		if len(value) == 0 {
			return errEmptyField.With(name)
		}
		if len(value) > r.Bounds.MaxKeyBytes {
			return errFieldTooLong.With(name, r.Bounds.MaxKeyBytes, len(value))
		}
		for j := 0; j < i; j += 2 {
			if bytes.Equal(words[j], name) {
				return errFieldTwice.With(name)
			}
		}
	}
	op.Options |= engine.NamedFields
	op.Args = r.KeepArgs(words)
	return nil
}
