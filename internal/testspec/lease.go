package testspec

// This model is a change of leaders, from Ann to Ben, and one limit of four tokens.
//
// A leader grants a quarter of a limit, one token, from its memory if the log's state does not have the limiter, and no
// operation on it is under way. All other requests become entries of the log, and an entry takes along what was granted
// from memory. At an election, an entry that is not committed is kept or lost. The next leader counts a quarter as taken
// until the window is over, if the log's state does not have the limiter.
//
// Ann grants from memory while she has a lease. She sends heartbeats to the voters, and asks whether she still leads. The
// lease ends half a timeout after she asked, and three quarters of a timeout after she sent the heartbeat that the voters
// have answered. The voters elect Ben if they have heard nothing for a timeout of four ticks of their clock, which may be a
// tick ahead. They write their vote to their disks first, and may hear Ann while they do. Ann's machine may sleep, and a voter
// may be restarted.
//
// A client sends one request with an id, and sends it again to Ben if it has no answer.
//
// Promises: no window grants more than the limit; the request with an id counts once, and is not forgotten once it is
// acknowledged.

const (
	timeout       = 4 // ticks
	quarter       = timeout / 4
	leaseCapacity = 4
	leaderPart    = 1 // of the capacity
)

// leaseState is a state of the model of leaders.
type leaseState struct {
	isInLog        bool // the log's state has the limiter
	charged, spent int8 // in this window: by the log's state, and in truth

	silence   int8 // ticks of the voters' clock since they have heard a heartbeat
	ahead     int8 // ticks by which the voters' clock is ahead of Ann's
	heartbeat beat
	askAge    int8 // ticks of Ann's clock since she asked whether she leads, -1 if she does not wait for an answer
	lease     int8 // ticks of Ann's clock that are left
	isChecked bool // with LeaseIsCheckedFirst: Ann is about to grant
	isOffered bool // Ann has offered the leadership to Ben
	isVoting  bool // the voters are writing a vote for Ben

	benLeads   bool
	annKnows   bool    // Ann's state has the limiter; she hears nothing of Ben's log
	annWaits   bool    // for the outcome of her entry, when Ben was elected
	prior      bool    // a quarter counts as taken by an earlier leader
	taken      [2]int8 // by Ann and Ben from memory
	entry      entry   // under way, of the leader
	idCharged  int8    // how often the request with an id was charged
	idInLog    bool    // the log's state has the id
	idAnswered bool
}

// beat is a heartbeat on its way.
type beat struct {
	phase int8 // 0: none, 1: to the voters, 2: the answer to Ann
	age   int8 // ticks of Ann's clock since it was sent
}

// entry is an entry of the log that is not committed.
type entry struct {
	isUnderWay, hasID bool
	all               bool // it asks for all tokens that are left, not for one
	carried           int8 // tokens that were granted from memory
}

var leaders = [2]any{"Ann", "Ben"}

// Lease returns the model of leaders.
func Lease(bug Bug) Model[leaseState] {
	m := leaseModel{bug}
	return Model[leaseState]{Start: leaseState{askAge: -1}, Steps: m.steps, Wrong: m.wrong, Same: m.same}
}

type leaseModel struct{ bug Bug }

func (m leaseModel) wrong(s leaseState) string {
	switch {
	case s.spent > leaseCapacity:
		return "more than the limit is granted in a window"
	case s.idCharged > 1:
		return "a request with an id counts twice"
	case s.idAnswered && s.idCharged == 0 && !s.entry.hasID:
		return "an acknowledged request is forgotten"
	}
	return ""
}

func (m leaseModel) steps(s leaseState, next *Steps[leaseState]) {
	m.lead(s, next)
	m.grant(s, next)
	m.log(s, next)
	m.time(s, next)
	m.vote(s, next)
}

// lead sends heartbeats and renews the lease.
func (m leaseModel) lead(s leaseState, next *Steps[leaseState]) {
	if s.heartbeat.phase == 0 && !s.benLeads {
		to := s
		to.heartbeat = beat{phase: 1}
		next.Step(to, "Ann sends a heartbeat")
	}
	if s.askAge < 0 && (!s.benLeads || s.heartbeat.phase == 2) {
		to := s
		to.askAge = 0
		next.Step(to, "Ann asks whether she still leads")
	}
	if s.heartbeat.phase == 1 && !s.benLeads {
		to := s
		to.heartbeat.phase, to.silence = 2, 0
		next.Step(to, "the voters hear the heartbeat")
	}
	if s.heartbeat.phase == 2 {
		to := s
		to.heartbeat = beat{}
		if to.askAge >= 0 && (!s.isOffered || m.bug == LeaseWhileOffered) {
			to.lease = m.leaseLeft(s)
		}
		to.askAge = -1
		next.Step(to, "Ann hears the answer, and has a lease for %d ticks", to.lease)
	}
	if !s.isOffered && !s.benLeads {
		to := s
		if to.isOffered = true; m.bug != LeaseWhileOffered {
			to.lease = 0
		}
		next.Step(to, "Ann offers the leadership to Ben")
	}
}

func (m leaseModel) leaseLeft(s leaseState) int8 {
	switch m.bug {
	case LeaseCountsFromAnswer:
		return timeout / 2
	case LeaseCountsFromAsk:
		return max(0, timeout/2-s.askAge)
	}
	return leaseLeft(timeout, s.askAge, s.heartbeat.age)
}

// grant grants tokens from a leader's memory.
func (m leaseModel) grant(s leaseState, next *Steps[leaseState]) {
	if m.bug == LeaseIsCheckedFirst {
		if s.lease > 0 && !s.isChecked {
			to := s
			to.isChecked = true
			next.Step(to, "Ann checks her lease")
		}
	}
	hasLease := [2]bool{s.lease > 0 && m.bug != LeaseIsCheckedFirst || s.isChecked, s.benLeads}
	for i, has := range hasLease {
		isUnderWay, isKnown := s.entry.isUnderWay, s.isInLog
		if i == 0 && s.benLeads {
			isUnderWay, isKnown = s.annWaits, s.annKnows
		}
		if !has || isUnderWay && m.bug != MemoryBesideTheLog || isKnown || !mayTake(s.taken[i], 1, leaderPart) {
			continue
		}
		to := s
		to.isChecked = false
		to.taken[i]++
		to.spent++
		next.Step(to, "%s grants a token from memory", leaders[i])
		if m.bug == IDsInMemory && !s.idAnswered {
			to.idAnswered = true
			to.idCharged++
			next.Step(to, "%s grants the request with an id from memory", leaders[i])
			to.idAnswered = false
			next.Fault(to, "%s grants the request with an id from memory, and the answer is lost", leaders[i])
		}
	}
}

// log puts an entry into the log and commits it. An entry of Ann's after Ben's election is not looked at: it is lost.
func (m leaseModel) log(s leaseState, next *Steps[leaseState]) {
	leader := 0
	if s.benLeads {
		leader = 1
	}
	if !s.entry.isUnderWay {
		to := s
		to.entry = entry{isUnderWay: true, carried: s.taken[leader]}
		if m.bug == EntriesCarryNothing {
			to.entry.carried = 0
		}
		next.Step(to, "%s puts a request into the log, with %d granted from memory", leaders[leader], to.entry.carried)
		to.entry.all = true
		next.Step(to, "%s puts a request for all tokens into the log, with %d granted from memory", leaders[leader], to.entry.carried)
		to.entry.all = false
		if !s.idAnswered {
			to.entry.hasID = true
			if m.bug == AnswerBeforeCommit {
				to.idAnswered = true
				to.spent++
			}
			next.Step(to, "%s puts the request with an id into the log, with %d granted from memory", leaders[leader], to.entry.carried)
		}
		return
	}
	to := s
	granted := m.apply(&to)
	to.taken[leader] = 0
	switch {
	case s.entry.hasID && granted > 0:
		to.idAnswered = true
		next.Step(to, "the request with an id is committed and answered")
		to.idAnswered = s.idAnswered
		next.Fault(to, "the request with an id is committed, and the answer is lost")
	default:
		next.Step(to, "the request is committed, and granted %d", granted)
	}
}

// apply applies the entry that is under way, and returns the tokens that it grants.
func (m leaseModel) apply(s *leaseState) (tokens int8) {
	e := s.entry
	s.entry = entry{}
	if !s.isInLog {
		s.isInLog, s.charged = true, counted(e.carried, s.prior, leaderPart)
	}
	if e.hasID && s.idInLog {
		return 1 // as before
	}
	granted := int8(1)
	if e.all {
		granted = leaseCapacity - s.charged
	}
	if granted = min(granted, leaseCapacity-s.charged); granted == 0 {
		return 0
	}
	s.charged += granted
	if e.hasID {
		s.idInLog = true
		s.idCharged++
	}
	if !(e.hasID && m.bug == AnswerBeforeCommit) {
		s.spent += granted
	}
	return granted
}

// time moves the clocks and ends the window.
func (m leaseModel) time(s leaseState, next *Steps[leaseState]) {
	if s.ahead == 0 {
		to := s
		to.ahead, to.silence = 1, min(s.silence+1, timeout)
		next.Step(to, "the voters' clock ticks")
	} else {
		to := s
		to.ahead = 0
		to.pass(1)
		to.lease = max(0, s.lease-1)
		next.Step(to, "Ann's clock ticks")
	}
	to := s
	to.silence = timeout
	if m.bug != LeaseOutlivesSleep {
		to.lease = 0
		to.pass(timeout)
	}
	next.Fault(to, "Ann's machine sleeps for %d ticks", timeout)
	if s.spent > 0 && !s.entry.isUnderWay {
		to := s
		to.isInLog, to.annKnows, to.charged, to.spent, to.taken, to.prior = false, false, 0, 0, [2]int8{}, false
		next.Step(to, "the window ends")
	}
}

// pass lets time pass at Ann's.
func (s *leaseState) pass(ticks int8) {
	if s.heartbeat.phase > 0 {
		s.heartbeat.age = min(s.heartbeat.age+ticks, timeout/2+quarter)
	}
	if s.askAge >= 0 {
		s.askAge = min(s.askAge+ticks, timeout/2)
	}
}

// vote lets the voters vote for Ben. They look whether they may, write the vote, and look again.
func (m leaseModel) vote(s leaseState, next *Steps[leaseState]) {
	if s.benLeads {
		return
	}
	to := s
	if to.silence, to.isVoting = 0, false; m.bug == RestartedVotersVote {
		to.silence = timeout
	}
	next.Fault(to, "the voters are restarted")
	may := mayVote(s.silence, timeout, s.isOffered)
	to = s
	to.isVoting = !s.isVoting
	switch {
	case s.isVoting && (may || m.bug == VotersLookOnce):
		m.elect(s, next)
	case s.isVoting:
		next.Step(to, "the voters drop their vote for Ben, because they have heard Ann")
	case may:
		next.Step(to, "the voters begin to write their vote for Ben")
	}
}

// elect makes Ben the leader.
func (m leaseModel) elect(s leaseState, next *Steps[leaseState]) {
	to := s
	to.isVoting = false
	to.benLeads, to.prior = true, m.bug != PriorIsForgotten
	to.annKnows, to.annWaits = s.isInLog, s.entry.isUnderWay
	if s.entry.isUnderWay {
		kept := to
		kept.prior = false // at the time of the entry, Ann leads
		m.apply(&kept)
		kept.prior = to.prior && !kept.isInLog
		next.Step(kept, "Ben is elected, and has the entry of Ann")
	}
	to.entry = entry{}
	next.Step(to, "Ben is elected")
}

// same forgets what has no effect any longer once Ben leads.
func (m leaseModel) same(s leaseState) leaseState {
	if !s.benLeads {
		return s
	}
	if s.silence = 0; s.heartbeat.phase == 1 {
		s.heartbeat = beat{}
	}
	if s.heartbeat.phase == 0 {
		s.askAge = -1
		if s.lease == 0 && !s.isChecked {
			s.annKnows, s.annWaits, s.taken[0], s.isOffered, s.ahead = false, false, 0, false, 0
		}
	}
	return s
}
