package server

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"github.com/stintdb/stint/server/command"
)

// goMemory is what Go's runtime has of memory, in bytes. Reading it stops nobody, as runtime.ReadMemStats would.
type goMemory struct {
	objects int64 // in the heap, those included that are garbage already
	idle    int64 // of the heap, free and not given back to the system
	taken   int64 // heap, stacks and tables, less what was given back
}

func readGoMemory() goMemory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	of := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return goMemory{objects: of(0), idle: of(1), taken: of(2) - of(3)}
}

// Memory implements [command.Observer].
func (s *Server) Memory() command.MemoryUse {
	of := readGoMemory()
	m := command.MemoryUse{
		Keys: s.keys.Bytes(), Heap: of.objects, HeapIdle: of.idle, Resident: residentBytes(), ClientBuffers: s.buffered.Load(),
	}
	s.budgetMu.Lock()
	defer s.budgetMu.Unlock()
	b := &s.budget
	b.peak = max(b.peak, m.Used())
	m.KeysLimit, m.Startup, m.Peak = b.keys, b.startup, b.peak
	return m
}

func (s *Server) infoMemory() []field {
	m := s.Memory()
	used := m.Used()
	return append([]field{
		{"used_memory", used}, {"used_memory_human", human(used)}, {"used_memory_rss", m.Resident}, {"used_memory_rss_human", human(m.Resident)},
		{"used_memory_peak", m.Peak}, {"used_memory_peak_human", human(m.Peak)}, {"used_memory_startup", m.Startup},
		{"used_memory_overhead", m.Heap}, {"used_memory_dataset", m.Keys}, {"mem_clients_normal", m.ClientBuffers},
		{"mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(m.Resident)/float64(max(used, 1)))}, {"mem_fragmentation_bytes", m.Resident - used},
		{"keys_memory", m.Keys}, {"keys_memory_per_key", m.Keys / int64(max(s.keys.Len(), 1))}, {"heap_memory", m.Heap},
		{"maxmemory", s.maxMemory()}, {"maxmemory_human", human(s.maxMemory())}, {"maxmemory_policy", "noeviction"},
	}, s.infoForced()...)
}

// human writes bytes as Redis does in the fields of INFO that are named so.
func human(bytes int64) string {
	for _, unit := range []struct {
		letter string
		shift  uint
	}{{"G", 30}, {"M", 20}, {"K", 10}} {
		if bytes >= 1<<unit.shift {
			return fmt.Sprintf("%.2f%s", float64(bytes)/float64(int64(1)<<unit.shift), unit.letter)
		}
	}
	return fmt.Sprintf("%dB", bytes)
}

// ReleaseMemory implements [command.Observer].
func (s *Server) ReleaseMemory() { debug.FreeOSMemory() }

// AllocatorStats implements [command.Observer]: every whole number that Go's runtime has about memory, under its own name.
func (s *Server) AllocatorStats() string {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 && (strings.HasPrefix(d.Name, "/memory/") || strings.HasPrefix(d.Name, "/gc/")) {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	var out strings.Builder
	fmt.Fprintf(&out, "keys, outside of the allocator: %d bytes\n", s.keys.Bytes())
	for _, sample := range samples {
		name, unit, _ := strings.Cut(sample.Name, ":")
		fmt.Fprintf(&out, "%s: %d %s\n", name, sample.Value.Uint64(), unit)
	}
	return out.String()
}
