package server

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/stats"
)

const mb = 1 << 20

// All buffers of a connection count by their capacity, and as nothing once it is closed.
func TestBuffersAreCounted(t *testing.T) {
	for name, in := range map[string][]byte{
		"unfinished":  append([]byte("*1000\r\n"), bytes.Repeat([]byte("$6\r\n123456\r\n"), 900)...),
		"transaction": append(frames("MULTI"), bytes.Repeat(frames("PING"), 5000)...),
		"watched":     frame(append([]string{"WATCH"}, keysNumbered(1000)...)...),
		"words":       append(frame(make([]string, 1024)...), "*1"...),
	} {
		p := newSessionPlayer(t, 0)
		c := p.open("")
		c.deliver(in)
		used := c.Usage()
		held := int64(used.Input) + int64(used.Queued)*(32+24) // each is a PING
		if got := p.memory.Buffers.Bytes.Load(); got < held || held == 0 && got < 1024*16 {
			t.Errorf("%s: %d bytes are counted, %d are held at least", name, got, held)
		}
		c.hangUp()
		if got := p.memory.Buffers.Bytes.Load(); got != 0 || c.Usage().Input > 0 || c.Usage().Arguments > conn.KeepRestBytes {
			t.Errorf("%s: when the connection has gone, %d bytes are counted", name, got)
		}
	}
}

func keysNumbered(n int) (keys []string) {
	for i := range n {
		keys = append(keys, strconv.Itoa(i))
	}
	return keys
}

// A connection that once sent a large command does not hold on to it.
func TestLargeCommandIsLetGo(t *testing.T) {
	p := newSessionPlayer(t, 1000)
	c := p.open("")
	c.deliver(frame("ECHO", string(bytes.Repeat([]byte("x"), 60_000))))
	if c.Usage().Input > 0 || p.memory.Buffers.Bytes.Load() != 0 {
		t.Errorf("%d bytes are kept, %d counted", c.Usage().Input, p.memory.Buffers.Bytes.Load())
	}
}

// The log of denials keeps the beginning of a long name, and not all of it in memory.
func TestDenialsKeepNoLongNames(t *testing.T) {
	p := newSessionPlayer(t, 0)
	c := p.open("")
	heap := heapBytes()
	for i := range 100 {
		c.deliver(frame("AUTH", strconv.Itoa(i)+strings.Repeat("x", 60_000), "wrong"))
		p.clock.Advance(time.Minute)
	}
	if kept := len(p.env.Users.Log.Entries(1000)); kept != 100 {
		t.Fatalf("%d denials are kept", kept)
	}
	if grown := heapBytes() - heap; grown > 2*mb {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// Beyond the bound it is those with most that go, and not the one that comes next.
func TestLargestBuffersGo(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.memory.Buffers.Most.Store(256 << 10)
	open := func(name string, size int) *pipe {
		c := p.open(name)
		c.deliver(append([]byte("*2\r\n$4\r\nECHO\r\n$60000\r\n"), bytes.Repeat([]byte("x"), size)...))
		return c
	}
	var large []*pipe
	for _, name := range []string{"a", "b", "c", "d"} {
		large = append(large, open(name, 58_000))
	}
	small := open("e", 1000)
	p.env.Registry.CloseLargest()
	p.settle()
	gone := 0
	for _, c := range large {
		if c.closed {
			gone++
		}
	}
	if gone == 0 || gone == len(large) || small.closed {
		t.Errorf("%d of %d large ones are gone, the small one %t", gone, len(large), small.closed)
	}
	if got := p.memory.Buffers.Bytes.Load(); got > 256<<10/8*7 {
		t.Errorf("%d bytes are left", got)
	}
	before := p.env.Stats.RejectionCount(stats.ClientMemory)
	p.env.Registry.CloseLargest()
	if p.env.Stats.RejectionCount(stats.ClientMemory) != before {
		t.Error("more are closed than need be")
	}
}
