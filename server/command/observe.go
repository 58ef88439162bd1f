package command

// Observer gives operators the server's records of slow commands, latency events, denials and memory.
type Observer interface {
	// MostDenied returns the n keys that were denied most in the last minutes, most denied first, among the keys that u
	// may look at. --top-keys sets how keys are shown. Truncated keys are left out unless u may look at all keys.
	MostDenied(n int, u KeyReader) []DeniedKey
	// SlowCommands returns the n latest commands that took too long, latest first. A negative n returns all.
	SlowCommands(n int) []SlowCommand
	SlowCount() int
	ResetSlowlog()
	// LatencyEvents returns the latest and the longest latency of every event.
	LatencyEvents() []LatencySummary
	// LatencyHistory returns up to 160 latencies of an event, oldest first.
	LatencyHistory(event string) []LatencyEvent
	// ResetLatency forgets the named events, or all if none is named, and returns how many it forgot.
	ResetLatency(events []string) int
	// Latencies returns how long the named commands took, or all that were called if none is named.
	Latencies(names []string) []LatencyHistogram
	// Memory returns the memory usage by category.
	Memory() MemoryUse
	// ReleaseMemory gives unused memory back to the system, and then calls done from another goroutine.
	ReleaseMemory(done func())
}

// LatencyEvent is a latency above --latency-monitor-threshold, the longest in its second.
type LatencyEvent struct{ UnixSec, Millis int64 }

// LatencyHistogram says how long calls of a command took: Counts[i] calls took at most Micros[i] microseconds.
type LatencyHistogram struct {
	Command string
	Calls   int64
	Micros  []int64
	Counts  []int64
}

// LatencySummary is the latest and the longest latency of an event.
type LatencySummary struct {
	Event   string
	Latest  LatencyEvent
	Longest int64 // milliseconds
}

// MemoryUse is the server's memory usage, in bytes.
type MemoryUse struct {
	Keys, KeysLimit int64 // used by keys, and the limit for them
	Heap, HeapIdle  int64 // objects in Go's heap, and idle heap that could be returned to the system
	Resident        int64
	ClientBuffers   int64 // part of Heap: replies not yet read and commands not yet complete
	Startup         int64 // Used when the server started
	Peak            int64 // the maximum of Used, which is read ten times a second
	System          int64 // what the machine or container has
}

// SlowCommand is a command that took too long.
type SlowCommand struct {
	ID      int64
	UnixSec int64
	Micros  int64
	Args    []string // shortened
	Addr    string
	Name    string // the client's name
}

// Users manages users and permissions for the ACL commands. Errors are complete replies.
type Users interface {
	Set(name string, rules []string) error
	Describe(name string) (UserDescription, bool)
	Delete(name string) (existed bool, err error)
	Lines() []string // as in an ACL file
	Names() []string
	Load() error
	Save() error
	Denials(n int) []Denial // latest first
	ResetDenials()
	GeneratePassword(bits int) string
}

// UserDescription is a user as ACL GETUSER shows it.
type UserDescription struct {
	Flags                    []string
	Passwords                []string // hashes
	Commands, Keys, Channels string
	MaxKeys, MaxRate         int64 // 0 is no limit
}

// Denial is one entry of ACL LOG.
type Denial struct {
	Count         int64
	Reason        string // auth, command, key or channel
	Context       string // toplevel or multi
	Object        string // the command or key
	User          string
	Client        string // the client's line of CLIENT LIST
	ID            int64
	Created, Last int64 // nanoseconds since the Unix epoch
}

// DeniedKey is a key that was denied at most Count times, and at least Count-Error times.
type DeniedKey struct {
	Key          []byte
	Count, Error int64
}

// Used is the memory used by keys and by objects in Go's heap.
func (m *MemoryUse) Used() int64 { return m.Keys + m.Heap }
