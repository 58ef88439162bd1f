package upstream

import (
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/limits"
)

// kind says how an operation is treated.
type kind int

const (
	handOn    kind = iota // the operation is not about keys of home
	fromPurse             // an acquire of a key of home
	declare               // a script, which may touch only the keys that it declares
	refuse                // the operation is not possible on a key of home
)

// ofHome reports whether the limit of a key, which has a name, has its home upstream. All such keys are in database 0.
func (u *Upstream) ofHome(name []byte) bool {
	number, key := database.Split(name)
	return number == 0 && u.isLikeHome(key)
}

// isLikeHome reports whether a key in database 0 would be one of home.
func (u *Upstream) isLikeHome(key []byte) bool {
	for _, pattern := range u.opt.Keys {
		if matches, _ := glob.MatchWithin(pattern, string(key), maxSteps); matches {
			return true
		}
	}
	return false
}

const maxSteps = 1 << 20

// classify says how an operation is treated. It refuses operations that could let a limiter here grant requests for a
// key of home.
func (u *Upstream) classify(op *engine.Op) kind {
	switch op.Verb {
	case engine.Acquire:
		switch {
		case !u.ofHome(op.Key):
			return handOn
		case op.Limit.Algorithm.Purse() == limits.NoAlgorithm, op.Options&^(engine.Peek|engine.UpTo) != 0,
			op.Keep != 0, op.MaxWait > 0:
			return refuse
		}
		return fromPurse
	case engine.AcquireAll:
		return refuseIf(u.anyOfHome(op.Parts))
	case engine.Check:
		return refuseIf(u.anyOfHome(u.opt.Policies.Asked(op)))
	case engine.Reserve:
		return refuseIf(u.ofHome(op.Key) || u.classify(op.Request()) != handOn)
	case engine.SetPolicy, engine.SetOverride:
		return refuseIf(u.mayNameHome(op.Parts))
	case engine.Delete, engine.Refund, engine.Release, engine.Lend, engine.Return, engine.Void, engine.Prepare,
		engine.Deposit, engine.AddCredits:
		return refuseIf(u.ofHome(op.Key))
	case engine.Command:
		return refuseIf(op.Writes() && u.declaresHome(op))
	case engine.Script:
		if u.declaresHome(op) {
			return refuse
		}
		return declare
	}
	return handOn
}

func refuseIf(is bool) kind {
	if is {
		return refuse
	}
	return handOn
}

func (u *Upstream) anyOfHome(parts []engine.Op) bool {
	for i := range parts {
		if u.ofHome(parts[i].Key) {
			return true
		}
	}
	return false
}

// declaresHome reports whether an operation on data is about a key of home, or about a key of the same name in another
// database, because it may move the key.
func (u *Upstream) declaresHome(op *engine.Op) bool {
	for _, key := range op.DeclaredKeys() {
		if u.isLikeHome(key) {
			return true
		}
	}
	return false
}

// mayNameHome reports whether a policy's key could be a key of home: it could if the literal beginnings of key and
// pattern do not differ.
func (u *Upstream) mayNameHome(parts []engine.Op) bool {
	for i := range parts {
		key, _, _ := strings.Cut(string(parts[i].Key), "{")
		for _, pattern := range u.opt.Keys {
			if begin := glob.Prefix(pattern); strings.HasPrefix(key, begin) || strings.HasPrefix(begin, key) {
				return true
			}
		}
	}
	return false
}
