package command

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/server/resp"
)

// Observer is what the server noticed about itself, for those who operate it.
type Observer interface {
	// MostDenied is the n keys denied most in the last minutes, most first, as --top-keys shows them.
	MostDenied(n int) []DeniedKey
	// SlowCommands is the n latest commands that took too long, the latest first; n < 0 is all.
	SlowCommands(n int) []SlowCommand
	SlowCount() int
	ForgetSlow()
	// Spikes is, for every event, its latest and its longest latency; SpikeHistory up to 160 of one event's, oldest first.
	Spikes() []SpikeSummary
	SpikeHistory(event string) []Spike
	// ForgetSpikes forgets the spikes of events, or with none of all, and returns of how many.
	ForgetSpikes(events []string) int
	// Latencies is how long commands took, of those named or with none of all that came.
	Latencies(names []string) []CommandLatency
	// Memory is where memory goes; AllocatorStats is what the allocator says, for people to read.
	Memory() MemoryUse
	AllocatorStats() string
	// ReleaseMemory gives memory that is not in use back to the system.
	ReleaseMemory()
}

// DeniedKey is a key and how often it was denied: at most Count times, and at least Count-Error.
type DeniedKey struct {
	Key          []byte
	Count, Error int64
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

// Spike is a latency of an event that was beyond --latency-monitor-threshold: the longest of its second.
type Spike struct{ UnixSec, Millis int64 }

// SpikeSummary is what there is of an event.
type SpikeSummary struct {
	Event   string
	Latest  Spike
	Longest int64 // milliseconds
}

// CommandLatency is how long a command took: Counts[i] is how many calls took at most Micros[i] microseconds.
type CommandLatency struct {
	Command string
	Calls   int64
	Micros  []int64
	Counts  []int64
}

var observeRows = []Row{{
	Name: "rl.top", Syntax: "[n]", Since: "0.1.0", Group: "limiter",
	Summary: "The keys denied most in the last 4 to 5 minutes, most first: key, denied, error. A key was denied at most that often, and less often by no more than the error; where denials are sampled, the error is both ways. n is 10 unless given.",
	Flags:   ReadOnly | Admin | Dangerous, Run: runTop,
}, {
	Name: "slowlog", Syntax: "subcommand", Since: "0.1.0", Group: "server", Summary: "Commands about commands that took long.",
	Sub: []Row{
		{Name: "get", Syntax: "[count]", Since: "0.1.0", Group: "server", Summary: "The latest commands that took longer than slowlog-log-slower-than, 10 unless count is given, -1 for all.",
			Flags: Admin | Dangerous, Run: runSlowlogGet},
		{Name: "len", Since: "0.1.0", Group: "server", Summary: "How many there are.", Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { w.Int(int64(s.Server().Observer().SlowCount())) }},
		{Name: "reset", Since: "0.1.0", Group: "server", Summary: "Forget them.", Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Server().Observer().ForgetSlow(); w.Status("OK") }},
		helpRow("slowlog"),
	},
}, {
	Name: "latency", Syntax: "subcommand", Since: "0.1.0", Group: "server", Summary: "Commands about what took long.",
	Sub: []Row{
		{Name: "latest", Since: "0.1.0", Group: "server", Summary: "The events that took longer than latency-monitor-threshold: event, when last, latest and longest milliseconds.",
			Flags: Admin | Dangerous, Run: runLatencyLatest},
		{Name: "history", Syntax: "event", Since: "0.1.0", Group: "server", Summary: "When an event took how long: Unix seconds and milliseconds, up to 160.",
			Flags: Admin | Dangerous, Run: runLatencyHistory},
		{Name: "graph", Syntax: "event", Since: "0.1.0", Group: "server", Summary: "Draw an event's history in characters: its latest 80 spikes, and how long ago they were.",
			Flags: Admin | Dangerous, Run: runLatencyGraph},
		{Name: "reset", Syntax: "[event ...]", Since: "0.1.0", Group: "server", Summary: "Forget events, all unless some are given.",
			Flags: Admin | Dangerous, Run: func(s Session, w *resp.Writer, args [][]byte) {
				w.Int(int64(s.Server().Observer().ForgetSpikes(texts(args[2:]))))
			}},
		{Name: "histogram", Syntax: "[command ...]", Since: "0.1.0", Group: "server", Summary: "How long commands took since the start: calls, and how many took at most so many microseconds.",
			Flags: Admin | Dangerous, Run: runLatencyHistogram},
		{Name: "doctor", Since: "0.1.0", Group: "server", Summary: "What LATENCY LATEST means, in words.", Flags: Admin | Dangerous, Run: runLatencyDoctor},
		helpRow("latency"),
	},
}, {
	Name: "monitor", Since: "0.1.0", Group: "server",
	Summary: "Be sent every command the server carries out, until RESET or the connection's end. What does not fit a megabyte of backlog is left out and counted.",
	Flags:   Admin | Dangerous | NoMulti, Run: func(s Session, w *resp.Writer, _ [][]byte) {
		if err := s.Monitor(); err != nil {
			w.Error(err.Error())
			return
		}
		w.Status("OK")
	},
}}

// maxTopReply bounds what RL.TOP answers.
const maxTopReply = 1000

func runTop(s Session, w *resp.Writer, args [][]byte) {
	n := int64(10)
	if len(args) > 2 {
		w.Error(ErrSyntax.Error())
		return
	}
	if len(args) == 2 {
		var err error
		if n, err = integerBetween("n", args[1], 1, maxTopReply); err != nil {
			w.Error(err.Error())
			return
		}
	}
	keys := s.Server().Observer().MostDenied(int(n))
	w.Array(len(keys))
	for _, k := range keys {
		w.Array(3)
		w.Bulk(k.Key)
		w.Int(k.Count)
		w.Int(k.Error)
	}
}

func runSlowlogGet(s Session, w *resp.Writer, args [][]byte) {
	n := int64(10)
	if len(args) > 3 {
		w.Error(ErrSyntax.Error())
		return
	}
	if len(args) == 3 {
		var ok bool
		if n, ok = integer(args[2]); !ok || n < -1 {
			w.Error("ERR count should be greater than or equal to -1")
			return
		}
	}
	entries := s.Server().Observer().SlowCommands(int(n))
	w.Array(len(entries))
	for _, e := range entries {
		w.Array(6)
		w.Int(e.ID)
		w.Int(e.UnixSec)
		w.Int(e.Micros)
		w.Array(len(e.Args))
		for _, a := range e.Args {
			w.BulkString(a)
		}
		w.BulkString(e.Addr)
		w.BulkString(e.Name)
	}
}

func runLatencyLatest(s Session, w *resp.Writer, _ [][]byte) {
	events := s.Server().Observer().Spikes()
	w.Array(len(events))
	for _, e := range events {
		w.Array(4)
		w.BulkString(e.Event)
		w.Int(e.Latest.UnixSec)
		w.Int(e.Latest.Millis)
		w.Int(e.Longest)
	}
}

func runLatencyHistory(s Session, w *resp.Writer, args [][]byte) {
	history := s.Server().Observer().SpikeHistory(strings.ToLower(string(args[2])))
	w.Array(len(history))
	for _, h := range history {
		w.Array(2)
		w.Int(h.UnixSec)
		w.Int(h.Millis)
	}
}

func runLatencyHistogram(s Session, w *resp.Writer, args [][]byte) {
	var names []string
	for _, a := range args[2:] {
		names = append(names, strings.ToLower(string(a)))
	}
	commands := s.Server().Observer().Latencies(names)
	w.Map(len(commands))
	for _, c := range commands {
		w.BulkString(c.Command)
		w.Map(2)
		w.BulkString("calls")
		w.Int(c.Calls)
		w.BulkString("histogram_usec")
		w.Map(len(c.Micros))
		for i := range c.Micros {
			w.Int(c.Micros[i])
			w.Int(c.Counts[i])
		}
	}
}

// eventAdvice says what an event is and what may be behind it.
var eventAdvice = map[string]string{
	"command":      "a command, or a pipeline of them, took long: SLOWLOG GET has those beyond its own threshold. KEYS, SCAN with a large COUNT and transactions on many keys do; so does a disk, with --durability always",
	"event-loop":   "an event loop took long to get round to a task, so every connection on it waited: too few processors, or a command that takes long",
	"expire-cycle": "dropping limiters that are as good as new took long: many keys became so at once",
}

func runLatencyDoctor(s Session, w *resp.Writer, _ [][]byte) {
	events := s.Server().Observer().Spikes()
	if len(events) == 0 {
		w.Verbatim("Nothing took longer than latency-monitor-threshold, or it is 0, which watches nothing: CONFIG SET latency-monitor-threshold 100 watches for 100 ms and more.\n")
		return
	}
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "%s: %d ms at Unix time %d, the longest %d ms. %s.\n", e.Event, e.Latest.Millis, e.Latest.UnixSec, e.Longest, eventAdvice[e.Event])
	}
	w.Verbatim(out.String())
}
