package server

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/metrics"
)

// field is one line of INFO.
type field struct {
	name  string
	value any
}

// infoSections is the one table of INFO.
var infoSections = []struct {
	name   string
	fields func(s *Server) []field
}{
	{"Server", (*Server).infoServer},
	{"Clients", (*Server).infoClients},
	{"Memory", (*Server).infoMemory},
	{"Persistence", (*Server).infoPersistence},
	{"Stats", (*Server).infoStats},
	{"Replication", (*Server).infoReplication},
	{"Cluster", (*Server).infoCluster},
	{"Stint", (*Server).infoStint},
	{"Policies", (*Server).infoPolicies},
	{"Commandstats", (*Server).infoCommandStats},
	{"Latencystats", (*Server).infoLatencyStats},
	{"Quotas", (*Server).infoQuotas},
	{"Keyspace", (*Server).infoKeyspace},
}

// longSections are left out unless they, all or everything are asked for, as in Redis.
var longSections = map[string]bool{"Commandstats": true, "Latencystats": true}

// Info implements [command.Server].
func (s *Server) Info(sections []string) string {
	long := slices.Contains(sections, "all") || slices.Contains(sections, "everything")
	all := len(sections) == 0
	for _, word := range []string{"all", "default", "everything"} {
		all = all || slices.Contains(sections, word)
	}
	var out strings.Builder
	for _, section := range infoSections {
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

func (s *Server) infoServer() []field {
	cfg := s.Config()
	port := "0"
	for _, a := range cfg.Listen {
		if _, p, err := net.SplitHostPort(a); err == nil && !strings.HasPrefix(a, "unix:") {
			port = p
			break
		}
	}
	mode, _ := command.ModeAndRole(s.cluster)
	uptime := int64(s.clock.Uptime().Seconds())
	return []field{
		{"redis_version", command.RedisVersion}, {"stint_version", s.version}, {"redis_mode", mode},
		{"os", runtime.GOOS}, {"arch_bits", 64}, {"go_version", runtime.Version()}, {"process_id", os.Getpid()},
		{"run_id", s.runID}, {"tcp_port", port}, {"server_time_usec", s.clock.Now() / 1000},
		{"uptime_in_seconds", uptime}, {"uptime_in_days", uptime / 86400}, {"config_file", cfg.File},
		{"event_loops", cmp.Or(cfg.Loops, runtime.GOMAXPROCS(0))},
	}
}

func (s *Server) infoClients() []field {
	return []field{
		{"connected_clients", s.clients.count()}, {"maxclients", s.Config().MaxClients}, {"blocked_clients", s.waits.Len()},
	}
}

func (s *Server) infoStats() []field {
	t := metrics.TotalsOf(s.sinceReset())
	_, received, sent := s.recorder.Read()
	return append([]field{
		{"total_connections_received", s.stats.connections.sinceReset()}, {"total_commands_processed", t.Commands},
		{"instantaneous_ops_per_sec", s.stats.rate.Load()}, {"rejected_connections", s.stats.rejected.sinceReset()},
		{"client_output_buffer_limit_disconnections", s.stats.slowReaders.sinceReset()}, {"expired_keys", s.stats.expired.sinceReset()},
		{"total_net_input_bytes", received}, {"total_net_output_bytes", sent},
		{"evicted_keys", 0}, {"total_error_replies", t.Errors},
	}, s.infoRefusals()...)
}

func (s *Server) infoKeyspace() []field {
	if n := s.keys.Len(); n > 0 {
		return []field{{"db0", fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, n)}}
	}
	return nil
}

// infoPolicies is a line for each policy: whether it is enforced, and what it decided since the server was started.
func (s *Server) infoPolicies() (fields []field) {
	s.keys.PolicyCounts(func(p engine.Policy) {
		shadow := 0
		if p.Shadow {
			shadow = 1
		}
		fields = append(fields, field{"policy_" + infoName(p.Name), fmt.Sprintf("shadow=%d,granted=%d,denied=%d,shadow_denied=%d",
			shadow, p.Granted, p.Denied, p.ShadowDenied)})
	})
	return fields
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// infoName quotes a name that would not pass as one word of an INFO line.
func infoName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}
