package engine

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
	// maxVariableState bounds a log or a set of leases.
	maxVariableState = 32 << 20
	// MaxLogLimit bounds the capacity of a sliding log, so that its state is no larger than that.
	MaxLogLimit = (maxVariableState - logHead) / logEntry
)
