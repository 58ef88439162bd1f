package testspec

// This model is three members of a group, and one entry of its log.
//
// Ann leads. She sends the entry to Ben and Cid, and counts her own copy once her disk has it; when two disks have it, it is
// acknowledged. Then Ben or Cid may stand in the next election. A voter votes once, and only for a candidate that has all
// that the voter has; two votes elect. Each member may lose its disk, once in all. It is then a new member, with a new
// incarnation in its name, and has no vote until it has the state of the leader, who puts it in the place of the former
// member. A copy of Cid's directory may be started at another address: nobody takes it for Cid while Cid answers.
//
// Promises: an acknowledged entry is in the log of the next leader; there are not two next leaders.

const (
	ann = iota
	ben
	cid
	copyOfCid
	members = copyOfCid
)

type memberState struct {
	has      [4]bool // on disk
	inMemory bool    // Ann has the entry in memory
	isAcked  bool
	isVoter  [3]bool
	isLost   bool    // a member has lost its disk
	isCopied bool    // a copy of Cid's directory runs
	votes    [4]int8 // the candidate for whom each has voted, 0 for none
	annIsOld bool    // Ann has voted, and leads no more
	leads    [3]bool // who was elected
	lacks    bool    // one of them did not have an acknowledged entry
}

var memberNames = [4]any{"Ann", "Ben", "Cid", "the copy of Cid"}

// Members returns the model of members.
func Members(bug Bug) Model[memberState] {
	m := memberModel{bug}
	start := memberState{isVoter: [3]bool{true, true, true}}
	return Model[memberState]{Start: start, Steps: m.steps, Wrong: m.wrong}
}

type memberModel struct{ bug Bug }

func (m memberModel) wrong(s memberState) string {
	switch {
	case s.lacks:
		return "the next leader does not have an acknowledged entry"
	case s.leads[ben] && s.leads[cid]:
		return "there are two next leaders"
	}
	return ""
}

func (m memberModel) steps(s memberState, next *Steps[memberState]) {
	m.write(s, next)
	m.lose(s, next)
	for _, candidate := range [...]int8{ben, cid} {
		for voter := range int8(4) {
			m.vote(s, candidate, voter, next)
		}
	}
}

// write stores the entry and acknowledges it.
func (m memberModel) write(s memberState, next *Steps[memberState]) {
	if s.annIsOld {
		return
	}
	if to := s; !s.inMemory && !s.has[ann] {
		to.inMemory = true
		next.Step(to, "Ann writes the entry")
	}
	if to := s; s.inMemory {
		to.inMemory, to.has[ann] = false, true
		next.Step(to, "Ann's disk has the entry")
		to = s
		to.inMemory, to.annIsOld = false, true
		next.Fault(to, "Ann loses power before her disk has the entry")
	}
	copies := 0
	for i := range int8(members) {
		if s.has[i] && s.isVoter[i] {
			copies++
		}
		if to := s; i != ann && !s.has[i] && (s.inMemory || s.has[ann]) && s.votes[i] == 0 {
			to.has[i] = true
			next.Step(to, "%s stores the entry", memberNames[i])
		}
	}
	if s.inMemory && m.bug == AnswerBeforeDisk {
		copies++
	}
	if to := s; copies >= 2 && !s.isAcked {
		to.isAcked = true
		next.Step(to, "the entry is acknowledged")
	}
}

// lose lets a member lose its disk and come back, or copies a directory.
func (m memberModel) lose(s memberState, next *Steps[memberState]) {
	for i := int8(ben); i < members; i++ {
		if to := s; !s.isLost {
			to.isLost, to.has[i], to.votes[i] = true, false, 0
			if m.bug != SameNameAfterLoss {
				to.isVoter[i] = false
				to.votes[i] = s.votes[i] // of the former member, which counts
			}
			next.Fault(to, "%s loses its disk", memberNames[i])
		}
		hasState := s.has[i] || !s.has[ann] && !s.inMemory
		if to := s; !s.isVoter[i] && !s.annIsOld && s.votes == [4]int8{} && (hasState || m.bug == VoteBeforeState) {
			to.isVoter[i] = true
			next.Step(to, "%s gets a vote under its new name", memberNames[i])
		}
	}
	if to := s; !s.isCopied {
		to.isCopied, to.has[copyOfCid] = true, s.has[cid]
		next.Fault(to, "a copy of Cid's directory is started")
	}
}

// vote lets a voter vote.
func (m memberModel) vote(s memberState, candidate, voter int8, next *Steps[memberState]) {
	switch {
	case voter == copyOfCid && (!s.isCopied || m.bug != CopyVotes):
		return
	case voter < members && !s.isVoter[voter], !s.isVoter[candidate]:
		return
	case s.votes[voter] != 0, s.has[voter] && !s.has[candidate], voter == ann && s.inMemory && !s.has[candidate]:
		return
	}
	to := s
	to.votes[voter] = candidate
	to.annIsOld = s.annIsOld || voter == ann
	votes := 0
	for _, vote := range to.votes {
		if vote == candidate {
			votes++
		}
	}
	if votes >= 2 {
		to.leads[candidate], to.lacks = true, s.lacks || s.isAcked && !s.has[candidate]
	}
	next.Step(to, "%s votes for %s", memberNames[voter], memberNames[candidate])
}
