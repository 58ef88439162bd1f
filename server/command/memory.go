package command

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

// MemoryUse is where memory goes, in bytes.
type MemoryUse struct {
	Keys, KeysLimit int64 // what limiters take, and may take
	Heap, HeapIdle  int64 // objects in Go's heap, and what it has besides that could be given back to the system
	Resident        int64
	ClientBuffers   int64 // part of Heap: replies not read and commands not finished
	Startup         int64 // Used when the server started
	Peak            int64 // the most Used was, of readings ten times a second
}

// Used is the memory in use: of keys, and of Go's heap.
func (m *MemoryUse) Used() int64 { return m.Keys + m.Heap }

var memoryRows = []Row{{
	Name: "memory", Syntax: "subcommand", Since: "0.1.0", Group: "server", Summary: "Commands about memory.",
	Sub: []Row{
		{Name: "usage", Syntax: "key [SAMPLES count]", Since: "0.1.0", Group: "server", Summary: "Bytes a key takes.",
			Flags: ReadOnly, Keys: Keys{2, 2, 1}, Parse: parseMemoryUsage, Reply: replyMemoryUsage},
		{Name: "stats", Since: "0.1.0", Group: "server", Summary: "Where memory goes.", Flags: ReadOnly, Run: runMemoryStats},
		{Name: "malloc-stats", Since: "0.1.0", Group: "server", Summary: "What Go's memory allocator says of itself, a line for each figure, and the bytes of keys, which are not its.", Flags: ReadOnly,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { w.Verbatim(s.Server().Observer().AllocatorStats()) }},
		{Name: "doctor", Since: "0.1.0", Group: "server", Summary: "What there is to say about memory, in words.", Flags: ReadOnly, Run: runMemoryDoctor},
		{Name: "purge", Since: "0.1.0", Group: "server", Summary: "Give memory that is not in use back to the system.", Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Server().Observer().ReleaseMemory(); w.Status("OK") }},
		helpRow("memory"),
	},
}}

func parseMemoryUsage(r *Request) error {
	if n := len(r.Args); n != 3 && (n != 5 || !isWord(r.Args[3], "SAMPLES")) {
		return ErrSyntax
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

// runMemoryStats answers under the names that Redis has for what there is here too, and others of our own.
func runMemoryStats(s Session, w *resp.Writer, _ [][]byte) {
	count, m := int64(s.Server().Keys().Len()), s.Server().Observer().Memory()
	used := m.Used()
	whole := []struct {
		name  string
		bytes int64
	}{
		{"peak.allocated", m.Peak}, {"total.allocated", used}, {"startup.allocated", m.Startup}, {"clients.normal", m.ClientBuffers},
		{"overhead.total", m.Heap}, {"dataset.bytes", m.Keys}, {"keys.count", count}, {"keys.bytes", m.Keys},
		{"keys.bytes-per-key", m.Keys / max(count, 1)}, {"keys.limit-bytes", m.KeysLimit}, {"resident.bytes", m.Resident},
		{"heap.bytes", m.Heap}, {"heap.idle-bytes", m.HeapIdle}, {"fragmentation.bytes", m.Resident - used},
	}
	parts := []struct {
		name  string
		value float64
	}{
		{"dataset.percentage", percentage(m.Keys, used-m.Startup)}, {"peak.percentage", percentage(used, m.Peak)},
		{"fragmentation", float64(m.Resident) / float64(max(used, 1))},
	}
	w.Map(len(whole) + len(parts))
	for _, p := range whole {
		w.BulkString(p.name)
		w.Int(p.bytes)
	}
	for _, p := range parts {
		w.BulkString(p.name)
		w.Double(p.value)
	}
}

// percentage is at most 100: a heap that is smaller than at the start leaves more than all to the keys.
func percentage(part, whole int64) float64 {
	return min(100*float64(part)/float64(max(whole, 1)), 100)
}

func runMemoryDoctor(s Session, w *resp.Writer, _ [][]byte) {
	const mb = 1 << 20
	m := s.Server().Observer().Memory()
	var out strings.Builder
	fmt.Fprintf(&out, "%d keys take %d MB of %d MB resident.\n", s.Server().Keys().Len(), m.Keys/mb, m.Resident/mb)
	switch {
	case m.KeysLimit == 0:
		out.WriteString("There is no bound on the memory of keys: set max-memory, so that a flood of new keys cannot take all the machine has.\n")
	case m.Keys > m.KeysLimit-m.KeysLimit/10:
		fmt.Fprintf(&out, "That is over 90 %% of max-memory (%d MB): raise it, or find out which keys are so many with SCAN.\n", m.KeysLimit/mb)
	}
	if m.HeapIdle > 64*mb {
		fmt.Fprintf(&out, "%d MB are not in use at the moment: MEMORY PURGE gives them back to the system.\n", m.HeapIdle/mb)
	}
	if m.ClientBuffers > 64*mb {
		fmt.Fprintf(&out, "%d MB are replies that clients have not read and commands they have not finished: CLIENT LIST shows who.\n", m.ClientBuffers/mb)
	}
	w.Verbatim(out.String())
}
