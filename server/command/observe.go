package command

// Observer gives operators the server's records of slow commands, latency events, denials and memory.
type Observer interface {
	// MostDenied is the n keys denied most in the last minutes, most first, as --top-keys shows them, of those that u may
	// look at. A key of which only the beginning is kept is left out unless u may look at all.
	MostDenied(n int, u KeyReader) []DeniedKey
	// SlowCommands is the n latest commands that took too long, the latest first; n < 0 is all.
	SlowCommands(n int) []SlowCommand
	SlowCount() int
	ResetSlowlog()
	// LatencyEvents is, for every event, its latest and its longest latency; LatencyHistory up to 160 of one event's, oldest first.
	LatencyEvents() []LatencySummary
	LatencyHistory(event string) []LatencyEvent
	// ResetLatency forgets events, or with none of all, and returns of how many.
	ResetLatency(events []string) int
	// Latencies is how long commands took, of those named or with none of all that came.
	Latencies(names []string) []LatencyHistogram
	// Memory is the memory usage by category.
	Memory() MemoryUse
	// ReleaseMemory has memory that is not in use given back to the system, and calls done when it has been, from another
	// goroutine.
	ReleaseMemory(done func())
}
