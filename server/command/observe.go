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

// LatencyEvent is a latency of an event that was beyond --latency-monitor-threshold: the longest of its second.
type LatencyEvent struct{ UnixSec, Millis int64 }

// LatencyHistogram is how long a command took: Counts[i] is how many calls took at most Micros[i] microseconds.
type LatencyHistogram struct {
	Command string
	Calls   int64
	Micros  []int64
	Counts  []int64
}

// LatencySummary is what there is of an event.
type LatencySummary struct {
	Event   string
	Latest  LatencyEvent
	Longest int64 // milliseconds
}

// MemoryUse is where memory goes, in bytes.
type MemoryUse struct {
	Keys, KeysLimit int64 // what limiters take, and may take
	Heap, HeapIdle  int64 // objects in Go's heap, and idle heap that could be returned to the system
	Resident        int64
	ClientBuffers   int64 // part of Heap: replies not read and commands not finished
	Startup         int64 // Used when the server started
	Peak            int64 // the most Used was, of readings ten times a second
}

// SlowCommand is a command that took too long.
type SlowCommand struct {
	ID      int64
	UnixSec int64
	Micros  int64
	Args    []string // shortened
	Addr    string
	Name    string // of the client
}

// Users manages users and permissions for the ACL commands. Errors are complete replies.
type Users interface {
	Set(name string, rules []string) error
	Describe(name string) (UserDescription, bool)
	Delete(name string) (existed bool, err error)
	Lines() []string // as in a file of users
	Names() []string
	Load() error
	Save() error
	Denials(n int) []Denial // the latest first
	ResetDenials()
	GeneratePassword(bits int) string
}

// UserDescription is a user as ACL GETUSER shows it.
type UserDescription struct {
	Flags                    []string
	Passwords                []string // hashes
	Commands, Keys, Channels string
	MaxKeys, MaxRate         int64 // 0 is no cap
}

// Denial is one entry of ACL LOG.
type Denial struct {
	Count         int64
	Reason        string // auth, command, key or channel
	Context       string // toplevel or multi
	Object        string // the command or key
	User          string
	Client        string // its line of CLIENT LIST
	ID            int64
	Created, Last int64 // nanoseconds since the Unix epoch
}

// DeniedKey is a key and how often it was denied: at most Count times, and at least Count-Error.
type DeniedKey struct {
	Key          []byte
	Count, Error int64
}

// Used is the memory in use: of keys, and of Go's heap.
func (m *MemoryUse) Used() int64 { return m.Keys + m.Heap }
