package testspec

// Bug is a rule that a mutant of a model has changed, in words. The empty Bug is none. Some were once in Stint, at least
// in a build between releases.
type Bug string

// Bugs of loans.
const (
	LateAskIsCarriedOut   Bug = "an operation is carried out whichever one was the last"
	AnswersAreTakenTwice  Bug = "a purse takes an answer in again"
	ReturnedTokensStay    Bug = "returned tokens stay in the purse until the answer comes"
	TimeRefillsLentTokens Bug = "a new window forgets what is lent"
	LentOnCountsAsSpent   Bug = "a zone counts tokens that it lends on as spent"
	LentOnOutlivesLoan    Bug = "a loan that is lent on may end after the loan that it comes from"
	AgeCountsFromAnswer   Bug = "the age of a loan counts from its answer"
	OldTokensAreSpent     Bug = "tokens are spent whatever the age of the loan"
	EndedLoanIsFree       Bug = "tokens of a loan that has ended count as unspent"
	OpenOperationsEnd     Bug = "a purse ends an operation that the lender may still carry out" // once in Stint
)

// Bugs of leaders.
const (
	LeaseCountsFromAnswer Bug = "a lease counts from the answer of the voters"
	LeaseCountsFromAsk    Bug = "a lease counts from the question, whenever the heartbeat was sent" // once in Stint
	LeaseIsCheckedFirst   Bug = "a leader checks its lease before it decides"
	LeaseOutlivesSleep    Bug = "a lease does not end while the machine sleeps"
	LeaseWhileOffered     Bug = "a leader has a lease while it offers the leadership"
	RestartedVotersVote   Bug = "a voter that was restarted votes at once"
	VotersLookOnce        Bug = "a voter votes though it has heard the leader while it wrote the vote" // once in Stint
	PriorIsForgotten      Bug = "a leader does not count what an earlier leader may have granted"
	MemoryBesideTheLog    Bug = "a leader grants from memory while an operation is under way"
	EntriesCarryNothing   Bug = "an entry does not take along what was granted from memory"
	IDsInMemory           Bug = "a request with an id is granted from memory"
	AnswerBeforeCommit    Bug = "a request is answered before it is committed"
)

// Bugs of processes.
const (
	SilentProcessSpends   Bug = "a process spends tokens though it has not heard the log"
	RemovedIsVoidedAtOnce Bug = "the loan of a removed member is voided at once"
	ProcessesAreNotVoided Bug = "nobody voids the loans of processes that have ended"
)

// Bugs of loans between groups.
const (
	LostByOwnReplica Bug = "a node voids a loan if its own replica does not show the purse" // once in Stint
	VoidNamesNoLoan  Bug = "a loan is voided whichever operation it has carried out since"  // once in Stint
)

// Bugs of members and of copies.
const (
	SameNameAfterLoss  Bug = "a node that has lost its disk keeps its name and its vote"
	VoteBeforeState    Bug = "a new member votes before it has the state"
	CopyVotes          Bug = "a copy of a directory votes in the name of its node" // once in Stint
	AnswerBeforeDisk   Bug = "a leader counts its own copy of an entry before its disk has it"
	LentInCopyIsFree   Bug = "tokens that nodes hold count as unspent in a copy"
	GrantsBeforeImport Bug = "a cluster grants requests before an import is in"    // once in Stint
	PursesAreCopied    Bug = "a copy has the tokens that another cluster has lent" // once in Stint
)
