package server

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/command"
)

// monitors are the connections that watch every command. While there are none, a session looks at one number.
type monitors struct {
	count   atomic.Int32
	dropped atomic.Int64 // lines left out because a connection did not keep up

	mu  sync.Mutex
	all []*monitor
}

// monitor is one such connection's backlog.
type monitor struct {
	wake func()

	mu      sync.Mutex
	lines   []byte
	dropped int64 // since the last line
	woken   bool
}

const (
	maxMonitors     = 10
	maxMonitorBytes = 1 << 20
	// monitorUnsent is how much a watching connection may have unsent before it is given more.
	monitorUnsent = 64 << 10
)

// Monitor implements [command.Session].
func (s *session) Monitor() error {
	if s.monitor != nil {
		return nil
	}
	all := &s.host.monitors
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.all) >= maxMonitors {
		return command.ErrTooManyMonitors
	}
	s.monitor = &monitor{wake: s.wake}
	s.watches.Store(true)
	all.all = append(all.all, s.monitor)
	all.count.Store(int32(len(all.all)))
	return nil
}

// endMonitor stops watching.
func (s *session) endMonitor() {
	if s.monitor == nil {
		return
	}
	all := &s.host.monitors
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
	s.watches.Store(false)
}

// show lets watching connections see a command, as Redis writes it. What operators do is not shown, nor are passwords.
func (s *session) show(row *command.Row, args [][]byte) {
	if row.Flags&command.Admin != 0 || hasSecrets(args) {
		return
	}
	line := appendMonitorLine(nil, s.host.clock.Now(), s.addr, args)
	all := &s.host.monitors
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
	fits := len(m.lines)+len(line) <= maxMonitorBytes
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

// takeMonitored writes the backlog to a watching connection, unless that has not read what it was sent before. It is
// woken for the next line.
func (s *session) takeMonitored(ws *workspace) {
	m := s.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	m.woken = false
	room := min(outputChunk, s.outputBuffer(s.host.Config())/4) // it is not to be closed for what it did not ask for
	if s.link != nil && s.link.Unsent() > min(monitorUnsent, room) {
		room = 0
	}
	if room >= len(m.lines) {
		room = len(m.lines)
	} else {
		room = bytes.LastIndexByte(m.lines[:room], '\n') + 1
		m.woken = true
		s.lookLater(pauseLook)
	}
	ws.out.Buf = append(ws.out.Buf, m.lines[:room]...)
	m.lines = append(m.lines[:0], m.lines[room:]...)
	if len(m.lines) > 0 {
		return
	}
	if m.dropped > 0 {
		ws.out.Buf = appendMonitorLine(ws.out.Buf, s.host.clock.Now(), "stint",
			[][]byte{[]byte("monitor"), []byte("dropped"), strconv.AppendInt(nil, m.dropped, 10)})
	}
	m.dropped = 0
}

// appendMonitorLine writes +seconds.microseconds [0 address] "word" "word" …
func appendMonitorLine(b []byte, now int64, addr string, args [][]byte) []byte {
	b = append(b, '+')
	b = strconv.AppendInt(b, now/int64(time.Second), 10)
	micros := strconv.Itoa(int(now % int64(time.Second) / int64(time.Microsecond)))
	b = append(b, ".000000"[:7-len(micros)]...)
	b = append(b, micros...)
	b = append(b, " [0 "...)
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
