package testspec

// This model is the purse of a node, in the memory of its process, and the log that lends to it.
//
// The log names one process of each member. A process may spend tokens for two ticks of its clock after it last heard that
// the log names it. A member that is removed may be cut off and go on, so its loan is voided four ticks after the
// removal. The loan of a process that was restarted is voided at once.
//
// Promises: no window grants more than the limit; all tokens come back.

const processCapacity = 2

type processState struct {
	charged, spent int8 // in this window: by the log, and in truth
	held           int8 // that the log has lent to the process
	isRemoved      bool
	sinceRemoval   int8 // ticks of the log's clock
	tokens         int8 // in the purse
	silence        int8 // ticks of the process's clock since it heard the log
	ahead          int8 // ticks by which the process's clock is ahead
	isRestarted    bool // the log names the next process; the first one has ended
}

const (
	stopsAfter = 2 // ticks
	voidsAfter = 4
)

// Process returns the model of a node's purse.
func Process(bug Bug) Model[processState] {
	m := processModel{bug}
	return Model[processState]{Steps: m.steps, Wrong: m.wrong, Rests: m.rests}
}

type processModel struct{ bug Bug }

func (processModel) wrong(s processState) string {
	if s.spent > processCapacity {
		return "more than the limit is granted in a window"
	}
	return ""
}

func (processModel) rests(s processState) bool { return s.held == 0 && s.tokens == 0 }

func (m processModel) steps(s processState, next *Steps[processState]) {
	isNamed := !s.isRemoved && !s.isRestarted
	if s.charged+s.held < processCapacity {
		to := s
		to.charged++
		to.spent++
		next.Step(to, "the log grants a token")
		if to = s; isNamed {
			to.held++
			to.tokens++
			to.silence = 0
			next.Step(to, "the log lends a token to the process")
		}
	}
	if s.tokens > 0 && !s.isRestarted && (s.silence < stopsAfter || m.bug == SilentProcessSpends) {
		to := s
		to.tokens--
		to.spent++
		next.Step(to, "the process grants a token from its purse")
	}
	if isNamed {
		m.hear(s, next)
	}
	m.change(s, next)
	m.void(s, next)
	m.time(s, next)
}

// hear lets the process hear the log: it states what it has spent, and may give its tokens back.
func (m processModel) hear(s processState, next *Steps[processState]) {
	to := s
	to.silence = 0
	to.charged += s.held - s.tokens
	to.held = s.tokens
	next.Step(to, "the process hears the log, and states %d as left", s.tokens)
	to.held, to.tokens = 0, 0
	next.Step(to, "the process returns %d", s.tokens)
}

// change restarts or removes the member.
func (m processModel) change(s processState, next *Steps[processState]) {
	if s.isRemoved || s.isRestarted {
		return
	}
	to := s
	to.isRemoved = true
	next.Step(to, "the member is removed, and does not hear of it")
	to = s
	to.isRestarted, to.tokens = true, 0
	next.Fault(to, "the process ends with %d, and the log names the next one", s.tokens)
}

// void ends the loan of a process that has ended.
func (m processModel) void(s processState, next *Steps[processState]) {
	isDue := s.isRestarted || s.isRemoved && (s.sinceRemoval >= voidsAfter || m.bug == RemovedIsVoidedAtOnce)
	if s.held > 0 && isDue && m.bug != ProcessesAreNotVoided {
		to := s
		to.charged, to.held = s.charged+s.held, 0
		next.Step(to, "the leader voids the loan of %d", s.held)
	}
}

func (m processModel) time(s processState, next *Steps[processState]) {
	if s.spent > 0 || s.charged > 0 {
		to := s
		to.charged, to.spent = 0, 0
		next.Step(to, "the window ends")
	}
	if s.ahead == 0 {
		to := s
		to.ahead, to.silence = 1, min(s.silence+1, stopsAfter)
		if to.silence == stopsAfter && m.bug != SilentProcessSpends {
			to.tokens = 0
		}
		next.Step(to, "the clock of the process ticks")
		return
	}
	to := s
	if to.ahead = 0; s.isRemoved {
		to.sinceRemoval = min(s.sinceRemoval+1, voidsAfter)
	}
	next.Step(to, "the clock of the leader ticks")
}
