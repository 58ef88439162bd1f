// Package info writes the reply of the command INFO.
package info

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine/policy"

	"github.com/stintdb/stint/server/command/ops"
	"github.com/stintdb/stint/server/metrics"
)

// table has the sections of INFO.
var table = []struct {
	name   string
	fields func(s *Source) []field
}{
	{"Server", (*Source).server},
	{"Clients", (*Source).clients},
	{"Memory", (*Source).memory},
	{"Persistence", (*Source).persistence},
	{"Stats", (*Source).stats},
	{"Replication", (*Source).replication},
	{"CPU", (*Source).cpu},
	{"Cluster", (*Source).cluster},
	{"Upstream", (*Source).upstream},
	{"Stint", (*Source).stint},
	{"Policies", (*Source).policies},
	{"Commandstats", (*Source).commandStats},
	{"Latencystats", (*Source).latencyStats},
	{"Quotas", (*Source).quotas},
	{"Keyspace", (*Source).keyspace},
}

// longSections are left out unless they, "all" or "everything" are asked for, as in Redis.
var longSections = map[string]bool{"Commandstats": true, "Latencystats": true}

// Text renders the named sections, or the usual ones if none is named.
func (s *Source) Text(sections []string) string {
	long := slices.Contains(sections, "all") || slices.Contains(sections, "everything")
	all := len(sections) == 0
	for _, word := range []string{"all", "default", "everything"} {
		all = all || slices.Contains(sections, word)
	}
	var out strings.Builder
	for _, section := range table {
		if !slices.Contains(sections, strings.ToLower(section.name)) && (!all || longSections[section.name] && !long) {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\r\n")
		}
		fmt.Fprintf(&out, "# %s\r\n", section.name)
		for _, f := range section.fields(s) {
			fmt.Fprintf(&out, "%s:%v\r\n", f.name, f.value)
		}
	}
	return out.String()
}

func (s *Source) server() []field {
	cfg := s.Env.Settings.Load()
	port := "0"
	for _, a := range cfg.Listen {
		if _, p, err := net.SplitHostPort(a); err == nil && !strings.HasPrefix(a, "unix:") {
			port = p
			break
		}
	}
	mode, _ := ops.ModeAndRole(s.Env.Cluster)
	uptime := int64(s.Env.Clock.Uptime().Seconds())
	return []field{
		{"redis_version", ops.RedisVersion}, {"stint_version", s.Version}, {"stint_commit", cmp.Or(s.Commit, "unknown")}, {"redis_mode", mode},
		{"os", runtime.GOOS}, {"arch_bits", 64}, {"go_version", runtime.Version()}, {"process_id", os.Getpid()},
		{"run_id", s.RunID}, {"tcp_port", port}, {"server_time_usec", s.Env.Clock.Now() / 1000},
		{"uptime_in_seconds", uptime}, {"uptime_in_days", uptime / 86400}, {"hz", housekeepingHz}, {"config_file", cfg.File},
		{"event_loops", cfg.LoopCount()},
	}
}

// housekeepingHz is how often a second the server looks after itself.
const housekeepingHz = 10

func (s *Source) cpu() []field {
	system, user := cpuTimes()
	return []field{{"used_cpu_sys", fmt.Sprintf("%.6f", system.Seconds())}, {"used_cpu_user", fmt.Sprintf("%.6f", user.Seconds())}}
}

func (s *Source) clients() []field {
	tracking, _, _, _ := s.Env.Tracking.Counts()
	return []field{
		{"connected_clients", s.Env.Registry.Count()}, {"maxclients", s.Env.Settings.Load().MaxClients}, {"blocked_clients", s.Env.WaitQueue.Len()}, {"tracking_clients", tracking},
	}
}

func (s *Source) stats() []field {
	t := metrics.TotalsOf(s.Env.Stats.Commands())
	_, received, sent := s.Env.Stats.Recorder.Read()
	channels, _ := s.Env.Channels.Counts()
	hits, misses := s.Env.Lookups.SinceReset()
	_, keys, items, prefixes := s.Env.Tracking.Counts()
	fields := []field{
		{"total_connections_received", s.Env.Stats.Connections.SinceReset()}, {"total_commands_processed", t.Commands},
		{"instantaneous_ops_per_sec", s.Env.Stats.Rate()}, {"rejected_connections", s.Env.Stats.Rejected.SinceReset()},
		{"client_output_buffer_limit_disconnections", s.Env.Stats.SlowReaders.SinceReset()}, {"expired_keys", s.Env.Stats.Expired.SinceReset()},
		{"total_net_input_bytes", received}, {"total_net_output_bytes", sent},
		{"evicted_keys", 0}, {"keyspace_hits", hits}, {"keyspace_misses", misses}, {"pubsub_channels", channels}, {"pubsub_patterns", 0}, {"latest_fork_usec", 0},
		{"total_error_replies", t.Errors},
		{"tracking_total_keys", keys}, {"tracking_total_items", items}, {"tracking_total_prefixes", prefixes},
	}
	s.Env.Stats.Rejections(func(name string, _, sinceReset int64) { fields = append(fields, field{name, sinceReset}) })
	return fields
}

func (s *Source) keyspace() (fields []field) {
	for number := range s.Keys.LastDatabase() + 1 {
		if n := s.Keys.DatabaseLen(uint8(number)); n > 0 {
			fields = append(fields, field{fmt.Sprint("db", number), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, n)})
		}
	}
	return fields
}

// policies has a line for each policy: whether it is in shadow mode, and its decisions since the server started.
func (s *Source) policies() (fields []field) {
	s.Keys.PolicyCounts(func(p policy.Policy) {
		fields = append(fields, field{"policy_" + oneWord(p.Name), fmt.Sprintf("shadow=%d,granted=%d,denied=%d,shadow_denied=%d",
			zeroOrOne(p.Shadow), p.Granted, p.Denied, p.ShadowDenied)})
	})
	return fields
}
