package testspec

import "fmt"

// Check is a model at one size, and bugs that it finds.
type Check struct {
	Name   string
	States int   // how many can be reached
	Bugs   []Bug // of which each leads to a state that breaks a promise

	run func(bug Bug, most int) (Result, error)
}

// Run visits all states of the model, with a bug or without, and fails if there are more than most.
func (c Check) Run(bug Bug, most int) (Result, error) { return c.run(bug, most) }

// Checks returns all checks.
func Checks() []Check {
	return []Check{
		chainCheck(3_694, Chain{Levels: 1, Capacity: 2, Kept: 1},
			AnswersAreTakenTwice, ReturnedTokensStay, TimeRefillsLentTokens, EndedLoanIsFree, OpenOperationsEnd),
		chainCheck(311_322, Chain{Levels: 1, Capacity: 2, Kept: 2, Numbers: 3}, LateAskIsCarriedOut),
		chainCheck(445_895, Chain{Levels: 1, Capacity: 2, Kept: 1, Time: 3}, AgeCountsFromAnswer, OldTokensAreSpent),
		chainCheck(172_212, Chain{Levels: 2, Capacity: 2, Kept: 1, Numbers: 2}),
		chainCheck(24_260, Chain{Levels: 2, Capacity: 2, Time: 4}, LentOnCountsAsSpent, LentOnOutlivesLoan),
		chainCheck(646_139, Chain{Levels: 2, Capacity: 2, Kept: 1}),
		chainCheck(1_113_684, Chain{Levels: 1, Capacity: 3, Kept: 2, Numbers: 3}),
		chainCheck(2_574_145, Chain{Levels: 1, Capacity: 2, Kept: 2}),
		chainCheck(1_366_096, Chain{Levels: 2, Capacity: 2, Kept: 1, Numbers: 1, Time: 4}),
		check("leaders", 123_903, Lease, LeaseCountsFromAnswer, LeaseCountsFromAsk, LeaseIsCheckedFirst, LeaseOutlivesSleep,
			LeaseWhileOffered, RestartedVotersVote, VotersLookOnce, PriorIsForgotten, MemoryBesideTheLog, EntriesCarryNothing, IDsInMemory,
			AnswerBeforeCommit),
		check("processes", 480, Process, SilentProcessSpends, RemovedIsVoidedAtOnce, ProcessesAreNotVoided),
		check("shared limits", 11_292, Shared, LostByOwnReplica, VoidNamesNoLoan),
		check("members", 3_357, Members, SameNameAfterLoss, VoteBeforeState, CopyVotes, AnswerBeforeDisk),
		check("copies", 140, Copied, LentInCopyIsFree, GrantsBeforeImport, PursesAreCopied),
	}
}

func check[S comparable](name string, states int, model func(Bug) Model[S], bugs ...Bug) Check {
	return Check{name, states, bugs, func(bug Bug, most int) (Result, error) {
		m := model(bug)
		return m.Check(most)
	}}
}

func chainCheck(states int, c Chain, bugs ...Bug) Check {
	name := fmt.Sprintf("loans of %d levels", c.Levels+1)
	switch c.Kept {
	case 0:
		name += ", messages at once"
	case 1:
		name += ", 1 message kept"
	default:
		name += fmt.Sprintf(", %d messages kept", c.Kept)
	}
	if c.Numbers > 0 {
		name += fmt.Sprintf(", %d operations", c.Numbers)
	}
	if c.Time > 0 {
		name += fmt.Sprintf(", that end after %d ticks", c.Time)
	}
	if c.Capacity != 2 {
		name += fmt.Sprintf(", limit %d", c.Capacity)
	}
	return check(name, states, c.Model, bugs...)
}
