package stats

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/server/command"
)

// Latencies is how long the named commands took, or with no names all commands that came: in powers of two, as Redis
// shows them.
func (s *Stats) Latencies(names []string) (latencies []command.LatencyHistogram) {
	for _, c := range s.Commands() {
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

// isNamed reports whether names has a command, or the one it is a subcommand of, or is empty.
func isNamed(command string, names []string) bool {
	container, _, _ := strings.Cut(command, "|")
	return len(names) == 0 || slices.Contains(names, command) || slices.Contains(names, container)
}
