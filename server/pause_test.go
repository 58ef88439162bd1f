package server

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// deafLink is a client that reads nothing.
type deafLink struct{ unsent int }

func (l *deafLink) Write(b []byte) (int, error) {
	l.unsent += len(b)
	return len(b), nil
}

func (l *deafLink) WriteLast(b []byte) (int, error) { return l.Write(b) }

func (l *deafLink) Unsent() int { return l.unsent }

// A connection whose client does not read is looked at less and less often, however much its client sends meanwhile, and
// goes on soon after the client has read.
func TestPausedIsLookedAtSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.Server.clock = NewClock() // that of the bubble
		var looks atomic.Int64
		wake := make(chan struct{}, 1)
		s := h.newSession("deaf", "server", func() {
			looks.Add(1)
			wake <- struct{}{}
		})
		link := &deafLink{unsent: s.outputBuffer(h.Config())/2 + 1}
		s.link = link
		start := time.Now()
		s.turn(frames("PING"))
		if !s.paused {
			t.Fatal("not paused")
		}
		for time.Since(start) < 10*time.Second {
			<-wake
			for range 10 {
				s.turn(frames("PING"))
			}
		}
		if n := looks.Load(); n < 40 || n > 100 {
			t.Errorf("looked at %d times in 10 s", n)
		}
		link.unsent = 0
		read := time.Now()
		for s.paused {
			<-wake
			s.turn(nil)
		}
		if waited := time.Since(read); waited > pauseLookMost {
			t.Errorf("went on %v after the client had read", waited)
		}
		if link.unsent == 0 {
			t.Error("the commands that came meanwhile were not carried out")
		}
	})
}
