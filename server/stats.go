package server

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/metrics"
)

// stats are the counters of INFO that the recorder does not have.
type stats struct {
	connections counter
	rejected    counter
	slowReaders counter
	expired     counter
	refused     [numRefusals]counter

	base atomic.Pointer[[]metrics.Command] // what the recorder had counted at the last CONFIG RESETSTAT

	rate                     atomic.Int64 // commands per second at the last sample
	lastCommands, lastDenied int64        // only sample uses these
	lastSample               int64
}

// counter is one that INFO shows from the last CONFIG RESETSTAT on, while metrics go on counting.
type counter struct {
	atomic.Int64
	base atomic.Int64
}

func (c *counter) sinceReset() int64 { return c.Load() - c.base.Load() }

// ResetStats implements [command.Server].
func (s *Server) ResetStats() {
	for _, c := range []*counter{&s.stats.connections, &s.stats.rejected, &s.stats.slowReaders, &s.stats.expired} {
		c.base.Store(c.Load())
	}
	for i := range s.stats.refused {
		s.stats.refused[i].base.Store(s.stats.refused[i].Load())
	}
	commands, _, _ := s.recorder.Read()
	s.stats.base.Store(&commands)
}

// sinceReset is what was counted of each command since the last CONFIG RESETSTAT.
func (s *Server) sinceReset() []metrics.Command {
	commands, _, _ := s.recorder.Read()
	base := s.stats.base.Load()
	if base == nil {
		return commands
	}
	return metrics.Since(commands, *base)
}

// sample works out the rate since the last call, and how many of the denials the list of the most denied keys looks at;
// one goroutine calls it.
func (s *Server) sample(now int64) {
	commands, denied := s.recorder.Rates()
	st := &s.stats
	if since := now - st.lastSample; st.lastSample > 0 && since > 0 {
		st.rate.Store(int64(float64(commands-st.lastCommands) * 1e9 / float64(since)))
		s.denied.Adapt(denied-st.lastDenied, since)
	}
	st.lastCommands, st.lastDenied, st.lastSample = commands, denied, now
}

func newRecorder() *metrics.Recorder {
	names, decides := make([]string, len(command.All)), make([]bool, len(command.All))
	for i, row := range command.All {
		names[i], decides[i] = row.FullName, row.Flags&command.Decides != 0
	}
	return metrics.NewRecorder(names, decides)
}

// newRunID returns 40 hexadecimal digits, as Redis identifies one run of a server.
func newRunID() string {
	id := make([]byte, 20)
	_, _ = rand.Read(id) // never fails: the runtime ends the process instead
	return hex.EncodeToString(id)
}
