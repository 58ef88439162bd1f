package access

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/localstore"
)

// reach looks at the keys that a user may use.
type reach struct {
	keys localstore.Policies
	user *acl.User
}

// allOf reports whether the user may do an operation to every key it is about, or else a key it may not. What
// concerns everybody, emptying the store and changing policies, needs the right to all keys. The keys of a
// reservation's limits are checked where it is decided: see [Limit].
func (r reach) allOf(op *engine.Op) (key []byte, ok bool) {
	switch op.Verb {
	case engine.Flush, engine.SetPolicy, engine.DropPolicy, engine.SetOverride:
		return []byte("*"), r.user.ReachesAll()
	case engine.AcquireAll:
		return r.parts(op)
	case engine.Command, engine.Script:
		for i, key := range op.DeclaredKeys() {
			if !r.has(key, command.AccessOf(op, i)) {
				return key, false
			}
		}
		return nil, true
	case engine.Check:
		return r.policy(op)
	case engine.Reserve:
		if !r.user.Reaches(op.Key, true) {
			return op.Key, false
		}
		return r.allOf(op.Request())
	}
	return r.one(op, command.AccessOf(op, 0))
}

// has reports whether the user may use a key in a way.
func (r reach) has(key []byte, access command.Access) bool {
	return (access&command.Reads == 0 || r.user.Reaches(key, false)) &&
		(access&command.Changes == 0 || r.user.Reaches(key, true))
}

// one looks at the key of a limit, and at the key of its member.
func (r reach) one(op *engine.Op, access command.Access) (key []byte, ok bool) {
	key, ok = op.Key, r.has(op.Key, access)
	if member := op.MemberKey(); ok && member != nil {
		key, ok = member, r.has(member, access)
	}
	return key, ok
}

// policy looks at the keys that a policy comes to for a caller. A policy that does not exist counts as out of reach, so
// that nobody can find out the names of other users' policies.
func (r reach) policy(check *engine.Op) (key []byte, ok bool) {
	ok = true
	found := r.keys.PolicyKeys(check.Key, check.Who, check.Args, func(k []byte) bool {
		key, ok = k, r.user.Reaches(k, check.Writes())
		return ok
	})
	if !found && !r.user.ReachesAll() {
		return check.Key, false
	}
	return key, ok
}

// parts looks at the keys of several limits.
func (r reach) parts(all *engine.Op) (key []byte, ok bool) {
	for i := range all.Parts {
		part := &all.Parts[i]
		if key, ok = r.one(part, command.AccessOf(part, 0)); !ok {
			return key, false
		}
	}
	return nil, true
}
