package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

func noPolicy(res *engine.Result) error {
	return command.ErrNoPolicy.With(command.Truncate(res.Reply, 64))
}

// whenCurrent answers from the local store as soon as it has every policy that was acknowledged anywhere before the
// command came. After READONLY and within EXEC, it answers at once.
func whenCurrent(s command.Session, w *resp.Writer, answer func(w *resp.Writer)) {
	m := s.Server().Membership()
	if m == nil || s.Client().ReadOnly || !s.MayAwait() {
		answer(w)
		return
	}
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		awaitBarrier(m, done, func() { done(answer) })
	})
}

// awaitPolicies holds the reply back, and calls answer as soon as this node knows all policies, or at once after READONLY.
func awaitPolicies(s command.Session, answer func(done func(func(*resp.Writer)))) {
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		m := s.Server().Membership()
		if m == nil || s.Client().ReadOnly {
			answer(done)
			return
		}
		awaitBarrier(m, done, func() { answer(done) })
	})
}

// awaitBarrier calls then when this node knows all policies, or gives done the error.
func awaitBarrier(m command.Membership, done func(func(*resp.Writer)), then func()) {
	m.Barrier(func(err error) {
		if err = command.ClusterError(err); err != nil {
			done(func(w *resp.Writer) { w.Error(err.Error()) })
			return
		}
		then()
	})
}

// seesPolicy reports whether a policy exists and the user may look at all its keys, taking {} and {name} literally.
func seesPolicy(s command.Session, name string) bool {
	sees := true
	found := s.Server().Keys().PolicyTemplates(name, func(key []byte) bool {
		sees = s.Reaches(key)
		return sees
	})
	return found && sees
}

// seesCaller reports whether the user may look at every key of a policy for a caller, taking {name} literally.
func seesCaller(s command.Session, policy, id string) bool {
	sees := true
	s.Server().Keys().PolicyKeys([]byte(policy), []byte(id), nil, func(key []byte) bool {
		sees = s.Reaches(key)
		return sees
	})
	return sees
}

func specTexts(parts []engine.Op) []string {
	specs := make([]string, len(parts))
	for i, part := range parts {
		specs[i] = SpecText(part)
	}
	return specs
}
