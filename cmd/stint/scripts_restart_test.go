//go:build e2e

package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/internal/testwait"
)

// scripted is a server that is killed while clients call scripts.
type scripted struct {
	t         *testing.T
	dir, mode string
	v         *victim
	c         *exactConn
	answered  atomic.Int64 // calls of increment by all clients
}

// increment is a script that the test loads. It counts its calls in its key.
const (
	increment      = "return redis.call('INCR', KEYS[1])"
	scriptsClients = 4
)

func (s *scripted) start() {
	s.v = startVictim(s.t, s.dir, s.mode)
	s.c = connectTo(s.t, &target{s.v})
}

func (s *scripted) ask(want string, words ...string) {
	s.t.Helper()
	if got, err := s.c.ask(words...); err != nil || got != want {
		s.t.Fatalf("%.200q is answered with %q, %v, and not with %q", words, got, err, want)
	}
}

// kill kills the server under load and starts it again. Before the kill it waits until the calls so far are durable in
// the server's mode. The server must then have counted all durable calls, and no more calls than were made.
func (s *scripted) kill() {
	s.t.Helper()
	began := s.answered.Load()
	var clients sync.WaitGroup
	for range scriptsClients {
		c, err := dialExact(s.v.address)
		if err != nil {
			s.t.Fatal(err)
		}
		clients.Go(func() {
			defer c.Close()
			for {
				if text, err := c.ask("EVALSHA", scriptcache.Digest([]byte(increment)), "1", "calls"); err != nil {
					return
				} else if text[0] == ':' {
					s.answered.Add(1)
				}
			}
		})
	}
	testwait.Until(s.t, "scripts are answered", func() bool { return s.answered.Load() >= began+100 })
	least := s.answered.Load()
	switch s.mode {
	case "interval":
		w, err := dialVictim(s.v)
		if err != nil {
			s.t.Fatal(err)
		}
		awaitFlush(s.t, w)
		_ = w.Close()
	case "snapshot":
		s.ask("+OK\r\n", "SAVE")
	}
	s.v.end(syscall.SIGKILL)
	clients.Wait()
	if s.mode == "always" {
		least = s.answered.Load()
	}
	s.start()
	text, err := s.c.ask("INCRBY", "calls", "0")
	var counted int64
	if _, scanErr := fmt.Sscanf(text, ":%d", &counted); err != nil || scanErr != nil || counted < least || counted > s.answered.Load()+scriptsClients {
		s.t.Fatalf("%s: after a kill %q calls are counted, %d were answered, %d of them durable (%v)", s.mode, text, s.answered.Load(), least, err)
	}
	s.answered.Store(counted)
}

// Scripts, and the data they write, survive a kill as limiters do: in mode always from the reply on, in mode interval
// from the next flush on, in mode snapshot from the next save on. SCRIPT FLUSH survives in the same way.
func TestScriptsThroughKills(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, mode := range []string{"always", "interval", "snapshot"} {
		t.Run(mode, func(t *testing.T) {
			s := &scripted{t: t, dir: t.TempDir(), mode: mode}
			s.start()
			called := "return redis.call('INCRBY', KEYS[1], 2)"
			s.ask("$40\r\n"+scriptcache.Digest([]byte(increment))+"\r\n", "SCRIPT", "LOAD", increment)
			s.ask(":2\r\n", "EVAL", called, "1", "k")
			for i := range 5 {
				s.kill()
				s.ask(fmt.Sprintf(":%d\r\n", 3*i+3), "EVALSHA", scriptcache.Digest([]byte(increment)), "1", "k")
				s.ask(fmt.Sprintf(":%d\r\n", 3*i+5), "EVALSHA", scriptcache.Digest([]byte(called)), "1", "k")
			}
			s.ask("+OK\r\n", "SCRIPT", "FLUSH")
			s.ask(":18\r\n", "EVAL", increment, "1", "k")
			s.kill()
			s.ask("*2\r\n:1\r\n:0\r\n", "SCRIPT", "EXISTS", strings.ToUpper(scriptcache.Digest([]byte(increment))), scriptcache.Digest([]byte(called)))
			s.v.end(syscall.SIGKILL)
		})
	}
}
