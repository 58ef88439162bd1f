package conn

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/conn/wait"
)

// deafLink is a client that reads nothing.
type deafLink struct{ unsent int }

func (l *deafLink) Write(b []byte) (int, error) {
	l.unsent += len(b)
	return len(b), nil
}

func (l *deafLink) WriteFinal(b []byte) (int, error) { return l.Write(b) }

func (l *deafLink) Unsent() int { return l.unsent }

// A connection whose client does not read is checked less and less often, even if its client keeps sending, and
// goes on soon after the client has read.
func TestPausedIsLookedAtSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
		var looks atomic.Int64
		wake := make(chan struct{}, 1)
		s := h.NewSession("deaf", "server", func() {
			looks.Add(1)
			wake <- struct{}{}
		})
		link := &deafLink{unsent: s.outputBuffer(h.config())/2 + 1}
		s.conn = link
		start := time.Now()
		s.ServeInput(frames("PING"))
		if !s.public.Wait.Has(wait.ForReader) {
			t.Fatal("not paused")
		}
		for time.Since(start) < 10*time.Second {
			<-wake
			for range 10 {
				s.ServeInput(frames("PING"))
			}
		}
		if n := looks.Load(); n < 40 || n > 100 {
			t.Errorf("looked at %d times in 10 s", n)
		}
		link.unsent = 0
		read := time.Now()
		for s.public.Wait.Has(wait.ForReader) {
			<-wake
			s.ServeInput(nil)
		}
		if waited := time.Since(read); waited > recheckMax {
			t.Errorf("went on %v after the client had read", waited)
		}
		if link.unsent == 0 {
			t.Error("the commands that came meanwhile were not carried out")
		}
	})
}
