package conn

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/wait"
)

// clientPause holds back the commands of all connections for a time, as CLIENT PAUSE asks. A held command stays in the
// input of its connection, and is executed when the pause ends. The zero value is no pause.
type clientPause struct {
	mode atomic.Uint32 // a command.PauseMode; 0 without a pause

	mu    sync.Mutex
	end   time.Time
	timer *time.Timer
	held  map[*Session]struct{} // the connections that have a held command
	ended bool                  // the server drains, and executes what it has received
}

// Start implements [command.Pause].
func (p *clientPause) Start(d time.Duration, mode command.PauseMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if end := time.Now().Add(d); p.mode.Load() == 0 || end.After(p.end) {
		p.end = end
		if p.timer != nil {
			p.timer.Stop()
		}
		p.timer = time.AfterFunc(d, p.stopIfOver)
	}
	p.mode.Store(max(p.mode.Load(), uint32(mode)))
}

// stopIfOver ends a pause that was not extended while its timer fired.
func (p *clientPause) stopIfOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !time.Now().Before(p.end) {
		p.stopLocked()
	}
}

// Stop implements [command.Pause].
func (p *clientPause) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopLocked()
}

func (p *clientPause) stopLocked() {
	p.mode.Store(0)
	for s := range p.held {
		s.public.Wait.Happen(wait.ForPause)
		s.public.Wake()
	}
	clear(p.held)
}

// holds reports whether the pause holds a command back. CLIENT UNPAUSE always passes.
func (p *clientPause) holds(row *command.Row, multi *transaction) bool {
	switch command.PauseMode(p.mode.Load()) {
	case 0:
		return false
	case command.PauseAll:
		return row.FullName != command.ClientUnpause
	}
	return row.Flags&command.Write != 0 || row.FullName == "exec" && multi.writes()
}

// hold makes a session wait for the end of the pause.
func (p *clientPause) hold(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[*Session]struct{}{}
	}
	p.held[s] = struct{}{}
	s.public.Wait.Begin(wait.ForPause)
	if p.mode.Load() == 0 { // it has just ended
		p.stopLocked()
	}
}

// forget removes a session whose connection has closed.
func (p *clientPause) forget(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, s)
}

// Pause implements [command.Session].
func (s commandSession) Pause() command.Pause { return &s.env.pause }

// Drain has all connections close as soon as they are owed nothing. A pause ends, and no other one begins.
func (e *Env) Drain() {
	e.Draining.Store(true)
	e.pause.mu.Lock()
	defer e.pause.mu.Unlock()
	e.pause.ended = true
	e.pause.stopLocked()
}
