package engine

// recordAlign is what sizes of states and records are multiples of.
const recordAlign = 8

// Bounds of operations and of what is kept.
const (
	// MaxKeyBytes bounds a key.
	MaxKeyBytes = 1 << 20
	// MaxHolders bounds the limit of a concurrency limiter: each decision looks at every holder.
	MaxHolders = 10_000
	// MaxHolderBytes bounds the name of a holder.
	MaxHolderBytes = 255
	// MaxParts bounds the limits of one all-or-nothing request, and of a policy.
	MaxParts = 64
	// MaxScriptBytes bounds the body of a script that is kept.
	MaxScriptBytes = 1 << 20
	// MaxPolicyName bounds the bytes of a policy's name.
	MaxPolicyName = 255
	// maxVariableState bounds a log or a set of leases.
	maxVariableState = 32 << 20
	// MaxLogLimit bounds the capacity of a sliding log, so that its state is no larger than that.
	MaxLogLimit = (maxVariableState - logHead) / logEntry
)

func align(n int) int { return (n + recordAlign - 1) &^ (recordAlign - 1) }
