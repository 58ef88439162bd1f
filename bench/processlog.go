package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"
)

// readyLine matches the line that all servers print once they accept connections, Sentinel the second. It matches the
// whole word, because "address already in use" is no readiness.
var readyLine = regexp.MustCompile(`(?i)\bready\b|\+monitor`)

// lastLinesKept is the number of lines shown of a dead server's output.
const lastLinesKept = 15

// A processLog copies a server's output to a file while watching it for the
// ready line and for the Go runtime's garbage collection trace.
type processLog struct {
	ready chan struct{} // closed once the ready line was seen

	mu        sync.Mutex
	file      io.Writer
	partial   []byte
	last      []string
	cycles    []gcCycle
	readyText string // the ready line, "" before it
	adminText string // the line about the page of a Stint, "" if it has none
}

func newProcessLog(file io.Writer) *processLog {
	return &processLog{ready: make(chan struct{}), file: file}
}

// Write implements io.Writer for exec.Cmd.
func (l *processLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		end := bytes.IndexByte(l.partial, '\n')
		if end < 0 {
			break
		}
		l.line(string(l.partial[:end]))
		l.partial = l.partial[end+1:]
	}
	return l.file.Write(p)
}

func (l *processLog) line(s string) {
	if cycle, ok := parseGCTrace(s); ok {
		l.cycles = append(l.cycles, cycle)
		return
	}
	l.last = append(l.last, s)
	if len(l.last) > lastLinesKept {
		l.last = l.last[1:]
	}
	if strings.HasPrefix(s, "Look: http://") {
		l.adminText = s
	}
	if l.readyText == "" && readyLine.MatchString(s) {
		l.readyText = s
		close(l.ready)
	}
}

// listening is where a server accepts connections, by protocol, as the ready lines of Stint and of the yardstick have
// it. The protocol of Redis is "".
func (l *processLog) listening() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	addresses := map[string]string{}
	if _, list, is := strings.Cut(l.readyText, "ready: accepting connections on "); is {
		for _, item := range strings.Split(list, ", ") {
			address, protocol, _ := strings.Cut(item, " (")
			addresses[strings.TrimSuffix(protocol, ")")] = address
		}
	}
	return addresses
}

// admin is the address of the page, with the metrics.
func (l *processLog) admin() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	address, _, _ := strings.Cut(strings.TrimPrefix(l.adminText, "Look: http://"), " ")
	return address
}

func (l *processLog) lastLines() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}

// gcCycles returns the collections traced so far.
func (l *processLog) gcCycles() []gcCycle {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]gcCycle(nil), l.cycles...)
}
