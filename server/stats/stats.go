// Package stats has the counters that INFO and metrics show: of commands, of connections, and of rejections.
package stats

import (
	"sync/atomic"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/metrics"
)

// Stats are the counters of a server. Its methods may be called from any goroutine, except [Stats.Sample].
type Stats struct {
	Recorder    *metrics.Recorder // of commands
	Connections Counter           // accepted
	Rejected    Counter           // connections for which there was no room
	SlowReaders Counter           // connections closed because they did not read their replies
	Expired     Counter           // keys
	rejections  [numRejections]Counter

	base atomic.Pointer[[]metrics.Command] // the recorder's counts at the last CONFIG RESETSTAT

	rate                     atomic.Int64 // commands per second at the last sample
	lastCommands, lastDenied int64        // only Sample uses these
	lastSample               int64        // clock
}

// Counter is a number that INFO shows from the last CONFIG RESETSTAT on, while metrics go on counting.
type Counter struct {
	atomic.Int64
	base atomic.Int64
}

// SinceReset is the count since the last CONFIG RESETSTAT.
func (c *Counter) SinceReset() int64 { return c.Load() - c.base.Load() }

// New returns counters for all commands of the table.
func New() *Stats {
	names, decides := make([]string, len(command.All)), make([]bool, len(command.All))
	for i, row := range command.All {
		names[i], decides[i] = row.FullName, row.Flags&command.Decides != 0
	}
	return &Stats{Recorder: metrics.NewRecorder(names, decides)}
}

// ResetStats implements [command.Server].
func (s *Stats) ResetStats() {
	for _, c := range []*Counter{&s.Connections, &s.Rejected, &s.SlowReaders, &s.Expired} {
		c.base.Store(c.Load())
	}
	for i := range s.rejections {
		s.rejections[i].base.Store(s.rejections[i].Load())
	}
	commands, _, _ := s.Recorder.Read()
	s.base.Store(&commands)
}

// Commands returns the counts of each command since the last CONFIG RESETSTAT.
func (s *Stats) Commands() []metrics.Command {
	commands, _, _ := s.Recorder.Read()
	base := s.base.Load()
	if base == nil {
		return commands
	}
	return metrics.Since(commands, *base)
}

// Sample works out the rate of commands since the last call, and returns the numbers of commands and of denials since
// then and the nanoseconds in which they came, 0 at the first call. One goroutine calls it.
func (s *Stats) Sample(now int64) (commands, denied, since int64) {
	allCommands, allDenied := s.Recorder.Rates()
	if since = now - s.lastSample; s.lastSample > 0 && since > 0 {
		s.rate.Store(int64(float64(allCommands-s.lastCommands) * 1e9 / float64(since)))
		commands, denied = allCommands-s.lastCommands, allDenied-s.lastDenied
	} else {
		since = 0
	}
	s.lastCommands, s.lastDenied, s.lastSample = allCommands, allDenied, now
	return commands, denied, since
}

// Rate is the number of commands a second at the last sample.
func (s *Stats) Rate() int64 { return s.rate.Load() }
