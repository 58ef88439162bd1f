package server

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
)

// stats are the counters of INFO.
type stats struct {
	commands    atomic.Int64
	errors      atomic.Int64
	_           [64]byte
	connections atomic.Int64
	rejected    atomic.Int64
	slowReaders atomic.Int64
	expired     atomic.Int64

	rate       atomic.Int64 // commands per second at the last sample
	lastCount  int64        // only sample uses these
	lastSample int64
}

// sample works out the rate since the last call; one goroutine calls it.
func (s *stats) sample(now int64) {
	count := s.commands.Load()
	if since := now - s.lastSample; s.lastSample > 0 && since > 0 {
		s.rate.Store(max(0, int64(float64(count-s.lastCount)*1e9/float64(since))))
	}
	s.lastCount, s.lastSample = count, now
}

// ResetStats implements [command.Server].
func (s *Server) ResetStats() {
	for _, c := range []*atomic.Int64{&s.stats.commands, &s.stats.errors, &s.stats.connections, &s.stats.rejected, &s.stats.slowReaders, &s.stats.expired} {
		c.Store(0)
	}
}

// newRunID returns 40 hexadecimal digits, as Redis identifies one run of a server.
func newRunID() string {
	id := make([]byte, 20)
	_, _ = rand.Read(id) // never fails: the runtime ends the process instead
	return hex.EncodeToString(id)
}
