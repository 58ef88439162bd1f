package ops

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var memoryRows = []command.Row{{
	Name: "memory", Syntax: "subcommand", Group: "server", Summary: "Inspect memory usage.",
	Sub: []command.Row{
		{Name: "usage", Syntax: "key [SAMPLES count]", Group: "server", Summary: "Memory used by a key, in bytes.",
			Returns: "an integer; null if the key does not exist.", Example: "alice:1",
			Cost: command.HolderLookup, Flags: command.ReadOnly,
			KeyFlags: "RO", Keys: command.Keys{First: 2, Last: 2, Access: command.Reads}, Parse: parseMemoryUsage, Reply: replyMemoryUsage},
		{Name: "stats", Group: "server", Summary: "Memory usage by category.",
			Returns: "a map of names to bytes, percentages and ratios, with Redis's names where they exist. The dataset is the keys; overhead is everything else.",
			Cost:    command.Information, Flags: command.Observes, Run: runMemoryStats},
		{Name: "doctor", Group: "server", Summary: "Advice about memory, in sentences.",
			Returns: "text.",
			Since:   "0.3.0", Cost: command.Information, Flags: command.Observes, Run: runMemoryDoctor},
		{Name: "purge", Group: "server", Summary: "Return unused memory to the operating system.",
			Returns: "`OK`.",
			Cost:    command.KeyPass, Flags: command.Admin | command.Dangerous,
			Run: runMemoryPurge},
	},
}}

func parseMemoryUsage(r *command.Request) error {
	if n := len(r.Args); n != 3 && (n != 5 || !command.IsWord(r.Args[3], "SAMPLES")) {
		return command.ErrSyntax
	} else if n == 5 {
		switch samples, ok := command.ParseInteger(r.Args[4]); {
		case !ok:
			return command.ErrNotInteger
		case samples < 0:
			return command.ErrSyntax
		}
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Look, Key: r.Args[2]})
	return r.Key(r.Args[2])
}

func replyMemoryUsage(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Null()
		return
	}
	w.Int(results[0].Bytes)
}

// runMemoryStats uses Redis's names for values that Redis has.
func runMemoryStats(s command.Session, w *resp.Writer, _ [][]byte) {
	count, m := int64(s.Server().Keys().Len()), s.Server().Observer().Memory()
	used := m.Used()
	command.WriteFields(w, []command.Field{
		{Name: "peak.allocated", Value: m.Peak}, {Name: "total.allocated", Value: used}, {Name: "startup.allocated", Value: m.Startup}, {Name: "clients.normal", Value: m.ClientBuffers},
		{Name: "overhead.total", Value: m.Heap}, {Name: "dataset.bytes", Value: m.Keys}, {Name: "keys.count", Value: count}, {Name: "keys.bytes", Value: m.Keys},
		{Name: "keys.bytes-per-key", Value: m.Keys / max(count, 1)}, {Name: "keys.limit-bytes", Value: m.KeysLimit}, {Name: "resident.bytes", Value: m.Resident},
		{Name: "heap.bytes", Value: m.Heap}, {Name: "heap.idle-bytes", Value: m.HeapIdle}, {Name: "fragmentation.bytes", Value: m.Resident - used},
		{Name: "dataset.percentage", Value: percentage(m.Keys, used-m.Startup)}, {Name: "peak.percentage", Value: percentage(used, m.Peak)},
		{Name: "fragmentation", Value: float64(m.Resident) / float64(max(used, 1))},
	})
}

// Shares and sizes from which on MEMORY DOCTOR has advice.
const (
	fullKeys     = 80      // per cent of the keys' memory
	fragmented   = 2       // times of the used memory
	fragmentedBy = 1 << 30 // bytes
	largeBuffers = 25      // per cent of the used memory
)

func runMemoryDoctor(s command.Session, w *resp.Writer, _ [][]byte) {
	m := s.Server().Observer().Memory()
	var advice []string
	if share := percentage(m.Keys, m.KeysLimit); share >= fullKeys {
		advice = append(advice, fmt.Sprintf("Keys take %.0f %% of the memory that they may take: raise --max-memory, or let keys expire earlier.", share))
	}
	if m.Resident > fragmented*m.Used() && m.Resident-m.Used() > fragmentedBy {
		advice = append(advice, "The process has more than twice the memory that it uses: MEMORY PURGE returns the rest to the system.")
	}
	if share := percentage(m.ClientBuffers, m.Used()); share >= largeBuffers {
		advice = append(advice, fmt.Sprintf("Buffers of clients take %.0f %% of the used memory: CLIENT LIST shows which, in qbuf and omem.", share))
	}
	if advice == nil {
		advice = append(advice, "No problem with memory was found.")
	}
	w.Verbatim(strings.Join(advice, "\n"))
}

// runMemoryPurge replies when the memory is released, which takes a while. In a transaction it replies at once.
func runMemoryPurge(s command.Session, w *resp.Writer, _ [][]byte) {
	release := s.Server().Observer().ReleaseMemory
	if !s.MayAwait() {
		release(func() {})
		w.Status("OK")
		return
	}
	s.Await(func(done func(error)) { release(func() { done(nil) }) })
}

// percentage is at most 100. When the heap is smaller than at the start, keys would have more than that.
func percentage(part, whole int64) float64 {
	return min(100*float64(part)/float64(max(whole, 1)), 100)
}
