package info

import (
	"fmt"

	"github.com/stintdb/stint/engine/admission"
)

func (s *Source) memory() []field {
	m := s.Memory.Memory()
	used := m.Used()
	return append([]field{
		{"used_memory", used}, {"used_memory_human", human(used)}, {"used_memory_rss", m.Resident}, {"used_memory_rss_human", human(m.Resident)},
		{"used_memory_peak", m.Peak}, {"used_memory_peak_human", human(m.Peak)}, {"used_memory_startup", m.Startup},
		{"used_memory_overhead", m.Heap}, {"used_memory_dataset", m.Keys}, {"mem_clients_normal", m.ClientBuffers},
		{"total_system_memory", m.System}, {"total_system_memory_human", human(m.System)}, {"mem_allocator", "go"},
		{"mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(m.Resident)/float64(max(used, 1)))}, {"mem_fragmentation_bytes", m.Resident - used},
		{"number_of_cached_scripts", s.Keys.ScriptCount()},
		{"keys_memory", m.Keys}, {"keys_memory_per_key", m.Keys / int64(max(s.Keys.Len(), 1))}, {"heap_memory", m.Heap},
		{"maxmemory", s.Memory.MaxMemory()}, {"maxmemory_human", human(s.Memory.MaxMemory())}, {"maxmemory_policy", "noeviction"},
	}, s.forced()...)
}

// human formats bytes as in Redis's fields that end in _human.
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

// forced has the decisions on new keys without room.
func (s *Source) forced() []field {
	f := s.Keys.NewKeyCounts()
	return []field{
		{"keys_memory_limit", s.Memory.MaxKeyBytes()}, {"when_full", s.Env.Settings.Load().WhenFull}, {"new_keys_refused", f.Denied},
		{"new_keys_allowed_unlimited", f.Allowed}, {"new_keys_shared_limiter", f.Shared}, {"new_keys_shared_limiter_denied", f.SharedDenied},
		{"overflow_limiters", f.Limiters}, {"restricted_prefixes", f.Keys}, {"lent_keys", s.Keys.LentKeys()},
	}
}

// quotas has a line for each quota.
func (s *Source) quotas() (fields []field) {
	s.Keys.QuotaCounts(func(q admission.Quota, keys int64) {
		fields = append(fields, field{"quota_" + oneWord(q.Name), keys})
	})
	return fields
}
