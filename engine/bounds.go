package engine

// RecordAlign divides the sizes of states and records.
const RecordAlign = 8

// Bounds of operations, states and lists.
const (
	// MaxKeyBytes bounds a key.
	MaxKeyBytes = 1 << 20
	// MaxHolderBytes bounds the name of a holder.
	MaxHolderBytes = 255
	// MaxParts bounds the limits of one all-or-nothing request, and of a policy.
	MaxParts = 64
	// MaxScriptBytes bounds the body of a script that is kept.
	MaxScriptBytes = 1 << 20
	// MaxPolicyName bounds the bytes of a policy's name.
	MaxPolicyName = 255
	// FingerprintBytes is the size of a key's fingerprint: a hash of its kind, limit, state and expiry, the same on all
	// replicas.
	FingerprintBytes = 16
	// PoliciesSumBytes is the size of the sum of all policies: a SHA-256, the same on all replicas.
	PoliciesSumBytes = 32
	// MaxExpected bounds the keys of an Expect.
	MaxExpected = 1024
	// MaxVariableState bounds a log or a set of leases.
	MaxVariableState = 32 << 20
	// MaxWeight bounds the weight of a member.
	MaxWeight = 1000
	// MaxReported bounds the calls of a report.
	MaxReported = 1_000_000_000_000_000_000
	// WholeRate is all of a rate, in the unit of Report.Down and Up.
	WholeRate = 100_000
	// LogEntry is the number of bytes of a grant in a sliding log, and in the list of them.
	LogEntry = 16
	// MaxListedBytes bounds the holders and grants listed for one batch. One list is never more.
	MaxListedBytes = 4 << 20
	// MaxMembers bounds the active members of a fair share.
	MaxMembers = 4096
	// MaxGrants bounds the grants of a sliding log that one ListLog lists.
	MaxGrants = 10_000
	// MaxExtensions bounds the extensions of one reservation.
	MaxExtensions = 1_000_000
	// MaxMarks bounds the windows from which one limit of a reservation has tokens that could go back.
	MaxMarks = 256
	// MaxCreditGrants bounds the grants of a balance that expire, at different times.
	MaxCreditGrants = 256
	// MaxWaiting bounds the requests that a Lend grants.
	MaxWaiting = 1 << 20
)

// Align is n, or the next multiple of [RecordAlign].
func Align(n int) int { return (n + RecordAlign - 1) &^ (RecordAlign - 1) }
