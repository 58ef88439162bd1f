package testspec

// This model is a limit that groups share: its home is a group that lends tokens to another group, whose log has the purse.
//
// An operation may come late, after the purse has ended, and then leaves a loan that no purse knows. So a node that leads
// home looks for loans whose purse its own replica of the group does not show. The replica may be behind. So the node
// asks the group's leader whether there is a purse. It voids the loan only if no operation on it was carried out since it
// was found.
//
// Promises: no window grants more than the limit; all tokens come back.

const sharedCapacity = 2

type sharedState struct {
	charged, spent int8 // in this window: by home, and in truth
	record         Record[int8]
	purse          Purse[int8]
	isShown        bool // the replica at home shows a purse
	next           int8
	late           Ask[int8]    // an operation on its way
	answer         Answer[int8] // an answer on its way
	found          int8         // the number of a loan that was found without a purse, 0 for none
	isGone         bool         // the group's leader has said that it has no purse
}

// Shared returns the model of a limit between groups.
func Shared(bug Bug) Model[sharedState] {
	m := sharedModel{bug}
	return Model[sharedState]{Start: sharedState{next: 1}, Steps: m.steps, Wrong: m.wrong, Rests: m.rests, Same: m.same}
}

type sharedModel struct{ bug Bug }

func (sharedModel) wrong(s sharedState) string {
	if s.spent > sharedCapacity {
		return "more than the limit is granted in a window"
	}
	return ""
}

func (sharedModel) rests(s sharedState) bool { return s.record.Held == 0 && s.purse.Tokens == 0 }

// exists reports whether the group's log has a purse.
func (s *sharedState) exists() bool { return s.purse.Prepared || s.purse.Previous > 0 }

func (m sharedModel) steps(s sharedState, next *Steps[sharedState]) {
	if s.charged+s.record.Held < sharedCapacity {
		to := s
		to.charged++
		to.spent++
		next.Step(to, "home grants a token")
	}
	if s.charged > 0 || s.spent > 0 {
		to := s
		to.charged, to.spent = 0, 0
		next.Step(to, "a window ends")
	}
	if s.purse.Tokens > 0 {
		to := s
		to.purse.Tokens--
		to.spent++
		next.Step(to, "the group grants a token from its purse")
	}
	m.exchange(s, next)
	m.look(s, next)
}

// exchange carries out operations on the loan.
func (m sharedModel) exchange(s sharedState, next *Steps[sharedState]) {
	for _, returning := range [...]bool{false, true} {
		if to := s; !s.purse.Prepared && (!returning || s.purse.Previous > 0) {
			to.purse.Prepare(s.next, returning, 0, m.bug)
			to.next++
			next.Step(to, "the group prepares operation %d with %d left", s.next, to.purse.Left)
		}
	}
	if to := s; s.purse.Prepared && s.late.Verb == None {
		to.late = s.purse.Ask(false)
		next.Step(to, "the group sends operation %d", s.purse.Number)
	}
	if s.late.Verb != None && s.answer == (Answer[int8]{}) {
		for most := range sharedCapacity - s.charged - s.record.Held + 1 {
			to := s
			var spent int8
			to.answer, spent, _ = to.record.Carry(s.late, most, m.bug)
			to.charged += spent
			next.Fault(to, "home hears operation %d, which stays on its way, too, and has lent %d", s.late.Number, to.record.Held)
			to.late = Ask[int8]{}
			next.Step(to, "home hears operation %d, and has lent %d", s.late.Number, to.record.Held)
		}
	}
	if s.answer != (Answer[int8]{}) {
		to := s
		if to.answer = (Answer[int8]{}); s.purse.Expects(s.answer) {
			to.purse.Hear(s.answer)
		}
		next.Step(to, "the group hears the answer to operation %d, and has %d", s.answer.To, to.purse.Tokens)
	}
}

// look finds loans without a purse and voids them.
func (m sharedModel) look(s sharedState, next *Steps[sharedState]) {
	if to := s; s.isShown != s.exists() {
		to.isShown = s.exists()
		next.Step(to, "the replica at home hears of the group's log")
	}
	if to := s; s.found == 0 && s.record.Held > 0 && !s.isShown {
		to.found, to.isGone = s.record.Number, m.bug == LostByOwnReplica
		next.Step(to, "home finds the loan of operation %d without a purse", s.record.Number)
	}
	if to := s; s.found > 0 && !s.isGone {
		if to.isGone = !s.exists(); to.isGone {
			next.Step(to, "the group's leader says that there is no purse")
		} else {
			to.found = 0
			next.Step(to, "the group's leader says that there is a purse")
		}
	}
	if to := s; s.found > 0 && s.isGone {
		to.found, to.isGone = 0, false
		if s.record.Number == s.found || m.bug == VoidNamesNoLoan {
			to.charged += s.record.Held
			to.record = Record[int8]{}
			next.Step(to, "home voids a loan of %d", s.record.Held)
		} else {
			next.Step(to, "home does not void the loan: another operation was carried out since")
		}
	}
}

// same gives the operations that are known somewhere the numbers from 1 on: they are only compared.
func (m sharedModel) same(s sharedState) sharedState {
	if !s.purse.Prepared {
		s.purse.Number = 0
	}
	s.next = renumber(&s.record.Number, &s.purse.Previous, &s.purse.Number, &s.late.Number, &s.late.Previous, &s.answer.To, &s.answer.Named, &s.found)
	return s
}
