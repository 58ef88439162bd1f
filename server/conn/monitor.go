package conn

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/command"
)

// Monitors are the connections that watch every command. While there are none, a session looks at one number.
type Monitors struct {
	count   atomic.Int32
	dropped atomic.Int64 // lines left out because a connection did not keep up

	mu  sync.Mutex
	all []*monitor
}

// Count is the number of connections that watch.
func (m *Monitors) Count() int { return int(m.count.Load()) }

// Dropped is the number of lines left out because a connection did not keep up.
func (m *Monitors) Dropped() int64 { return m.dropped.Load() }

// monitor is one such connection's backlog.
type monitor struct {
	wake func()

	mu      sync.Mutex
	lines   []byte
	dropped int64 // since the last line
	woken   bool
}

// Bounds of MONITOR.
const (
	MaxMonitors     = 10
	MaxMonitorBytes = 1 << 20 // of each one's backlog
	// MonitorUnsent is how much a watching connection may have unsent before it is given more.
	MonitorUnsent = 64 << 10
)

// Monitor implements [command.Session].
func (s commandSession) Monitor() error {
	if s.monitor != nil {
		return nil
	}
	all := &s.env.Monitors
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.all) >= MaxMonitors {
		return command.ErrTooManyMonitors
	}
	s.monitor = &monitor{wake: s.wake}
	s.monitoring.Store(true)
	all.all = append(all.all, s.monitor)
	all.count.Store(int32(len(all.all)))
	return nil
}

// stopMonitor stops watching.
func (s *Session) stopMonitor() {
	if s.monitor == nil {
		return
	}
	all := &s.env.Monitors
	all.mu.Lock()
	defer all.mu.Unlock()
	for i, m := range all.all {
		if m == s.monitor {
			all.all = append(all.all[:i], all.all[i+1:]...)
			break
		}
	}
	all.count.Store(int32(len(all.all)))
	s.monitor = nil
	s.monitoring.Store(false)
}

// feedMonitors lets watching connections see a command, as Redis writes it. What operators do is not shown, nor are passwords.
func (s *Session) feedMonitors(row *command.Row, args [][]byte) {
	if row.Flags&command.Admin != 0 || command.HasSecrets(args) {
		return
	}
	line := appendMonitorLine(nil, s.env.Clock.Now(), s.client.Database, s.addr, args)
	all := &s.env.Monitors
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, m := range all.all {
		if !m.add(line) {
			all.dropped.Add(1)
		}
	}
}

// add puts a line into the backlog, and reports whether there was room.
func (m *monitor) add(line []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	fits := len(m.lines)+len(line) <= MaxMonitorBytes
	if fits {
		m.lines = append(m.lines, line...)
	} else {
		m.dropped++
	}
	if !m.woken {
		m.woken = true
		m.wake()
	}
	return fits
}

// bytes is the memory of the backlog, and the length of the lines in it.
func (m *monitor) bytes() (memory, lines int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cap(m.lines), len(m.lines)
}

// writeMonitored writes the backlog to a watching connection, unless the connection has not read the lines before. It is
// woken for the next line.
func (s *Session) writeMonitored(batch *commandBatch) {
	m := s.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	m.woken = false
	room := min(outputChunk, s.outputBuffer(s.env.config())/4) // lines it did not ask for must not get it closed
	if s.conn != nil && s.conn.Unsent() > min(MonitorUnsent, room) {
		room = 0
	}
	if room >= len(m.lines) {
		room = len(m.lines)
	} else {
		room = bytes.LastIndexByte(m.lines[:room], '\n') + 1
		m.woken = true
		s.recheckLater(recheckMin)
	}
	batch.out.Buf = append(batch.out.Buf, m.lines[:room]...)
	m.lines = append(m.lines[:0], m.lines[room:]...)
	if len(m.lines) > 0 {
		return
	}
	if cap(m.lines) > MonitorUnsent {
		m.lines = nil
	}
	if m.dropped > 0 {
		batch.out.Buf = appendMonitorLine(batch.out.Buf, s.env.Clock.Now(), 0, "stint",
			[][]byte{[]byte("monitor"), []byte("dropped"), strconv.AppendInt(nil, m.dropped, 10)})
	}
	m.dropped = 0
}

// appendMonitorLine writes +seconds.microseconds [database address] "word" "word" …
func appendMonitorLine(b []byte, now int64, number uint8, addr string, args [][]byte) []byte {
	b = append(b, '+')
	b = strconv.AppendInt(b, now/int64(time.Second), 10)
	micros := strconv.Itoa(int(now % int64(time.Second) / int64(time.Microsecond)))
	b = append(b, ".000000"[:7-len(micros)]...)
	b = append(b, micros...)
	b = append(strconv.AppendUint(append(b, " ["...), uint64(number), 10), ' ')
	b = append(b, addr...)
	b = append(b, ']')
	for _, a := range args {
		b = append(b, ' ')
		b = appendQuoted(b, a)
	}
	return append(b, '\r', '\n')
}

// appendQuoted quotes as Redis does.
func appendQuoted(b, word []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range word {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\a':
			b = append(b, `\a`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c < ' ' || c > '~':
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
