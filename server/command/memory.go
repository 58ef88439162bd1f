package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

// MemoryUse is where memory goes, in bytes.
type MemoryUse struct {
	Keys, KeysLimit int64 // what limiters take, and may take
	Heap, HeapIdle  int64 // objects in Go's heap, and idle heap that could be returned to the system
	Resident        int64
	ClientBuffers   int64 // part of Heap: replies not read and commands not finished
	Startup         int64 // Used when the server started
	Peak            int64 // the most Used was, of readings ten times a second
}

// Used is the memory in use: of keys, and of Go's heap.
func (m *MemoryUse) Used() int64 { return m.Keys + m.Heap }

var memoryRows = []Row{{
	Name: "memory", Syntax: "subcommand", Group: "server", Summary: "Inspect memory usage.",
	Sub: []Row{
		{Name: "usage", Syntax: "key [SAMPLES count]", Group: "server", Summary: "Memory used by a key, in bytes.",
			Returns: "an integer; null if the key does not exist or has expired.", Example: "alice:1",
			Cost: HolderLookup, Flags: ReadOnly, Keys: Keys{First: 2, Last: 2, Access: Reads}, Parse: parseMemoryUsage, Reply: replyMemoryUsage},
		{Name: "stats", Group: "server", Summary: "Memory usage by category.",
			Returns: "a map of names to bytes, percentages and ratios, with Redis's names where they exist. The dataset is the keys; overhead is everything else.",
			Cost:    Information, Flags: Observes, Run: runMemoryStats},
		{Name: "purge", Group: "server", Summary: "Return unused memory to the operating system.",
			Returns: "`OK`.",
			Cost:    KeyPass, Flags: Admin | Dangerous,
			Run: runMemoryPurge},
	},
}}

func parseMemoryUsage(r *Request) error {
	if n := len(r.Args); n != 3 && (n != 5 || !isWord(r.Args[3], "SAMPLES")) {
		return ErrSyntax
	} else if n == 5 {
		switch samples, ok := integer(r.Args[4]); {
		case !ok:
			return ErrNotInteger
		case samples < 0:
			return ErrSyntax
		}
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Look, Key: r.Args[2]})
	return r.key(r.Args[2])
}

func replyMemoryUsage(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Null()
		return
	}
	w.Int(results[0].Bytes)
}

// runMemoryStats uses the names of Redis where the value has one there, and names of Stint otherwise.
func runMemoryStats(s Session, w *resp.Writer, _ [][]byte) {
	count, m := int64(s.Server().Keys().Len()), s.Server().Observer().Memory()
	used := m.Used()
	writeFields(w, []field{
		{"peak.allocated", m.Peak}, {"total.allocated", used}, {"startup.allocated", m.Startup}, {"clients.normal", m.ClientBuffers},
		{"overhead.total", m.Heap}, {"dataset.bytes", m.Keys}, {"keys.count", count}, {"keys.bytes", m.Keys},
		{"keys.bytes-per-key", m.Keys / max(count, 1)}, {"keys.limit-bytes", m.KeysLimit}, {"resident.bytes", m.Resident},
		{"heap.bytes", m.Heap}, {"heap.idle-bytes", m.HeapIdle}, {"fragmentation.bytes", m.Resident - used},
		{"dataset.percentage", percentage(m.Keys, used-m.Startup)}, {"peak.percentage", percentage(used, m.Peak)},
		{"fragmentation", float64(m.Resident) / float64(max(used, 1))},
	})
}

// runMemoryPurge answers when it is done, which takes a while. In a transaction it answers at once.
func runMemoryPurge(s Session, w *resp.Writer, _ [][]byte) {
	release := s.Server().Observer().ReleaseMemory
	if !s.MayAwait() {
		release(func() {})
		w.Status("OK")
		return
	}
	s.Await(func(done func(error)) { release(func() { done(nil) }) })
}

// percentage is at most 100: a heap that is smaller than at the start leaves more than all to the keys.
func percentage(part, whole int64) float64 {
	return min(100*float64(part)/float64(max(whole, 1)), 100)
}
