// Package monitor shows the commands of all connections to those that asked for it with MONITOR.
package monitor

import (
	"bytes"
	"slices"
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
	all []*Backlog
}

// Backlog has the lines that one watching connection has not been sent yet.
type Backlog struct {
	wake func()

	mu      sync.Mutex
	lines   []byte
	dropped int64 // since the last line
	woken   bool
}

// The bounds of MONITOR.
const (
	MaxMonitors     = 10
	MaxBacklogBytes = 1 << 20 // of each connection
	// MaxUnsent is how many bytes a watching connection may have unsent before it is given more.
	MaxUnsent = 64 << 10
)

// Count is the number of connections that watch.
func (m *Monitors) Count() int { return int(m.count.Load()) }

// Dropped is the number of lines left out because a connection did not keep up.
func (m *Monitors) Dropped() int64 { return m.dropped.Load() }

// Add begins a backlog for a connection, which is woken when there is something in it. The error says that there are
// too many.
func (m *Monitors) Add(wake func()) (*Backlog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) >= MaxMonitors {
		return nil, command.ErrTooManyMonitors
	}
	b := &Backlog{wake: wake}
	m.all = append(m.all, b)
	m.count.Store(int32(len(m.all)))
	return b, nil
}

// Remove ends a backlog.
func (m *Monitors) Remove(b *Backlog) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(other *Backlog) bool { return other == b })
	m.count.Store(int32(len(m.all)))
}

// Show adds a command of a client at an address to all backlogs, as Redis writes it. What operators do is not shown,
// nor are passwords.
func (m *Monitors) Show(row *command.Row, args [][]byte, now int64, database uint8, address string) {
	if row.Flags&command.Admin != 0 || command.HasSecrets(args) {
		return
	}
	line := appendLine(nil, now, database, address, args)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.all {
		if !b.add(line) {
			m.dropped.Add(1)
		}
	}
}

// Drop counts lines that are left out of all backlogs.
func (m *Monitors) Drop(lines int64) {
	if lines == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.all {
		m.dropped.Add(lines)
		b.drop(lines)
	}
}

// drop counts lines that are left out, and wakes the connection, which is told.
func (b *Backlog) drop(lines int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropped += lines
	b.wakeOnce()
}

// wakeOnce wakes the connection unless it was woken for an earlier line.
func (b *Backlog) wakeOnce() {
	if !b.woken {
		b.woken = true
		b.wake()
	}
}

// add puts a line into the backlog, and reports whether there was room.
func (b *Backlog) add(line []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := len(b.lines)+len(line) <= MaxBacklogBytes
	if fits {
		b.lines = append(b.lines, line...)
	} else {
		b.dropped++
	}
	b.wakeOnce()
	return fits
}

// Bytes is the memory of the backlog, and the length of the lines in it.
func (b *Backlog) Bytes() (memory, lines int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cap(b.lines), len(b.lines)
}

// Take appends whole lines of the backlog to a buffer, with a number of bytes at most. isRest reports that some are
// left; if not, the connection is woken for the next line.
func (b *Backlog) Take(to []byte, most int, now int64) (out []byte, isRest bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isRest = most < len(b.lines); isRest {
		most = bytes.LastIndexByte(b.lines[:most], '\n') + 1
	} else {
		most = len(b.lines)
	}
	b.woken = isRest
	to = append(to, b.lines[:most]...)
	b.lines = append(b.lines[:0], b.lines[most:]...)
	if isRest {
		return to, true
	}
	if cap(b.lines) > MaxUnsent {
		b.lines = nil
	}
	if b.dropped > 0 {
		to = appendLine(to, now, 0, "stint",
			[][]byte{[]byte("monitor"), []byte("dropped"), strconv.AppendInt(nil, b.dropped, 10)})
	}
	b.dropped = 0
	return to, false
}

// appendLine writes +seconds.microseconds [database address] "word" "word" …
func appendLine(b []byte, now int64, number uint8, addr string, args [][]byte) []byte {
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
