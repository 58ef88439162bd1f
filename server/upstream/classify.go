package upstream

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/limits"
)

// kind says how an operation is treated.
type kind int

const (
	handOn     kind = iota // the operation is not about keys of home
	fromPurse              // an acquire of a key of home
	fromPurses             // a request for several limits, some of them of keys of home
	keepLimits             // a policy with such limits
	byHome                 // an operation on a holder's loan
	atHome                 // an operation that home carries out as it is
	settles                // a settlement of a reservation, some of its limits perhaps of keys of home
	declare                // a script, which may touch only the keys that it declares
	refuse                 // the operation is not possible on a key of home
)

// spends reports whether an operation takes tokens from purses.
func (k kind) spends() bool { return k == fromPurse || k == fromPurses }

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
		case op.Options&engine.Force != 0 && isLendable(op, engine.Force|engine.UpTo):
			return atHome
		case !isLendable(op, engine.Peek|engine.UpTo):
			return refuse
		}
		return fromPurse
	case engine.AcquireAll, engine.Check:
		return u.classifySeveral(op)
	case engine.Reserve:
		return u.classifyReserve(op.Request())
	case engine.Extend, engine.Settle:
		return u.classifyReserved(op)
	case engine.SetPolicy, engine.SetOverride:
		return u.classifyPolicy(op.Parts)
	case engine.Lend, engine.Return:
		if u.ofHome(op.Key) {
			return byHome
		}
	case engine.Refund:
		if u.ofHome(op.Key) {
			return atHome
		}
	case engine.Delete, engine.Release, engine.Void, engine.Prepare, engine.Deposit, engine.AddCredits:
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

// isLendable reports whether a request for a limit of home can be granted from lent tokens.
func isLendable(op *engine.Op, options engine.Option) bool {
	return op.Limit.Algorithm.Base().Purse() != limits.NoAlgorithm && op.Options&^options == 0 && op.Keep == 0 && op.MaxWait <= 0
}

// isLendablePart is isLendable for one of several limits, which may have a COST. A limit with a History cannot be one of
// them, because home alone has its closed windows, of which it counts the tokens that roll over.
func isLendablePart(p *engine.Op, options engine.Option) bool {
	return isLendable(p, options|engine.FixedCost) && p.Limit.History == 0
}

// classifySeveral is classify for a request for several limits. The limits of home that a policy has are kept as those
// of purses, see [Upstream.policyInPurses]. If one is not, the policy is older than the settings of this server.
func (u *Upstream) classifySeveral(op *engine.Op) (k kind) {
	parts := u.opt.Policies.Asked(op)
	for i := range parts {
		p := &parts[i]
		isOfHome, isKept := u.ofHome(p.Key), p.Limit.Algorithm.IsPurse()
		switch {
		case !isOfHome && !isKept:
			continue
		case op.Verb == engine.Check && isOfHome != isKept, op.Keep != 0, !isLendablePart(p, engine.Peek):
			return refuse
		}
		k = fromPurses
	}
	return k
}

// classifyReserve is classify for a request whose grant is remembered. A region that is a cluster would give the same
// tokens back twice if it began again from a backup.
func (u *Upstream) classifyReserve(request *engine.Op) kind {
	switch k := u.classify(request); {
	case k == handOn:
		return handOn
	case u.opt.Alone && (k == fromPurses || k == fromPurse && isLendablePart(request, 0)):
		return fromPurses
	}
	return refuse
}

// classifyReserved is classify for an operation on a reservation. A settlement may come before its reservation is made,
// and be decided after it.
func (u *Upstream) classifyReserved(op *engine.Op) kind {
	if !u.opt.Alone {
		return handOn
	}
	limits := u.opt.Policies.Asked(op)
	isOfHome := slices.ContainsFunc(limits, func(p engine.Op) bool { return p.Limit.Algorithm.IsPurse() })
	switch {
	case op.Verb == engine.Settle && (isOfHome || len(limits) == 0):
		return settles
	case isOfHome:
		return fromPurses
	}
	return handOn
}

// classifyPolicy is classify for the limits of a policy. All keys that a limit can come to must have the same home.
func (u *Upstream) classifyPolicy(parts []engine.Op) (k kind) {
	for i := range parts {
		switch always, ever := u.comesToHome(string(parts[i].Key)); {
		case !ever:
		case !always || !isLendablePart(&parts[i], 0):
			return refuse
		default:
			k = keepLimits
		}
	}
	return k
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

// comesToHome reports whether the key of a policy's limit is always one of home, and whether it ever is.
func (u *Upstream) comesToHome(template string) (always, ever bool) {
	key, _, isTemplate := strings.Cut(template, "{")
	if !isTemplate {
		is := u.isLikeHome([]byte(key))
		return is, is
	}
	for _, pattern := range u.opt.Keys {
		begin := glob.Prefix(pattern)
		always = always || strings.HasPrefix(key, begin) && pattern == begin+"*"
		ever = ever || strings.HasPrefix(key, begin) || strings.HasPrefix(begin, key)
	}
	return always, ever
}
