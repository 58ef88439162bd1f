package server

import (
	"math"
	"slices"
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/latency"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/recent"
	"github.com/stintdb/stint/server/slowlog"
	"github.com/stintdb/stint/server/topkeys"
)

// observer implements [command.Observer] with the parts of a server.
type observer struct {
	*slowlog.Log
	*latency.Monitor
	*memlimit.Limiter
	*Server
}

// Observer implements [command.Server].
func (s *Server) Observer() command.Observer {
	return observer{s.env.SlowLog, s.env.Latency, s.memory, s}
}

// ClientList implements [command.Server].
func (s *Server) ClientList(match func(command.ClientInfo) bool) (connections int, render func() string) {
	return s.env.Registry.ClientList(match)
}

// ClientLine implements [command.Server].
func (s *Server) ClientLine(id int64) string { return s.env.Registry.ClientLine(id) }

// Kill implements [command.Server].
func (s *Server) Kill(match func(command.ClientInfo) bool) int { return s.env.Registry.Kill(match) }

// Info implements [command.Server].
func (s *Server) Info(sections []string) string { return s.info.Text(sections) }

// ResetStats implements [command.Server].
func (s *Server) ResetStats() { s.env.Stats.ResetStats() }

// MostDenied implements [command.Observer].
func (s *Server) MostDenied(n int, u command.KeyReader) (keys []command.DeniedKey) {
	all, _ := s.env.TopKeys.Top(math.MaxInt, s.env.Clock.Now())
	all = slices.DeleteFunc(all, func(e topkeys.Entry) bool { return !u.ReachesAll() && (e.Size > len(e.Key) || !u.Reaches(e.Key)) })
	for _, e := range s.shownKeys(all[:min(n, len(all))]) {
		keys = append(keys, command.DeniedKey{Key: e.Key, Count: e.Count, Error: e.Error})
	}
	return keys
}

// Latencies implements [command.Observer]: in powers of two, as Redis shows them.
func (s *Server) Latencies(names []string) (latencies []command.LatencyHistogram) {
	for _, c := range s.env.Stats.Commands() {
		if c.Latency.Count == 0 || !isNamed(c.Name, names) {
			continue
		}
		l := command.LatencyHistogram{Command: c.Name, Calls: c.Latency.Count}
		for micros, below := int64(1), int64(0); below < c.Latency.Count; micros *= 2 {
			atMost := c.Latency.AtMost(micros * 1000)
			if micros > 1<<26 { // beyond the last bound
				atMost = c.Latency.Count
			}
			if atMost > below {
				l.Micros, l.Counts = append(l.Micros, micros), append(l.Counts, atMost)
				below = atMost
			}
		}
		latencies = append(latencies, l)
	}
	return latencies
}

// Recent records the requests on policies that came to this node.
func (s *Server) Recent() *recent.Record { return s.env.Recent }

// Events are the last events of this node.
func (s *Server) Events() *events.Log { return &s.env.Events }

// isNamed reports whether names has a command, or the one it is a subcommand of, or is empty.
func isNamed(command string, names []string) bool {
	container, _, _ := strings.Cut(command, "|")
	return len(names) == 0 || slices.Contains(names, command) || slices.Contains(names, container)
}
