package conn

import (
	"github.com/stintdb/stint/server/monitor"
)

// Monitor implements [command.Session].
func (s commandSession) Monitor() (err error) {
	if s.backlog == nil {
		s.backlog, err = s.env.Monitors.Add(s.public.Wake)
		s.public.Monitoring.Store(s.backlog != nil)
	}
	return err
}

// stopMonitor stops watching.
func (s *Session) stopMonitor() {
	if s.backlog != nil {
		s.env.Monitors.Remove(s.backlog)
		s.backlog = nil
		s.public.Monitoring.Store(false)
	}
}

// writeMonitored writes the backlog to a watching connection, unless the connection has not read the lines before.
func (s *Session) writeMonitored(batch *commandBatch) {
	room := min(outputChunk, s.outputBuffer(s.env.config())/4) // lines it did not ask for must not get it closed
	if s.conn != nil && s.conn.Unsent() > min(monitor.MaxUnsent, room) {
		room = 0
	}
	isRest := false
	if batch.out.Buf, isRest = s.backlog.Take(batch.out.Buf, room, s.env.Clock.Now()); isRest {
		s.recheckLater(recheckMin)
	}
}
