package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/transcripttest"
)

// sessionPlayer plays on sessions alone: it drives them like an event loop, without I/O.
type sessionPlayer struct {
	*testHost
	chunk int         // bytes that arrive at a time, 0 for all at once
	later *laterLocal // the decider, where it is one that finishes later
	rest  func()      // waits until nothing more happens without input, where other goroutines have a part in it
	conns map[string]*pipe
}

// pipe is a session with what its client has been sent so far.
type pipe struct {
	player *sessionPlayer
	*conn.Session
	woken  atomic.Bool
	sent   bytes.Buffer
	unread *bufio.Reader // of sent
	closed bool
}

func newSessionPlayer(t testing.TB, chunk int, set ...func(*config.Config)) *sessionPlayer {
	return &sessionPlayer{testHost: newHost(t, nil, set...), chunk: chunk, conns: map[string]*pipe{}}
}

// open connects; without room for another client the error is its reply.
func (p *sessionPlayer) open(name string) *pipe {
	c := &pipe{player: p}
	c.unread = bufio.NewReader(&c.sent)
	c.Session = p.env.NewSession(name, "server", func() { c.woken.Store(true) })
	c.Attach(c, nil)
	if err := p.env.Registry.Admit(c.Public()); err != nil {
		panic("sessionPlayer: " + err.Error())
	}
	p.conns[name] = c
	return c
}

// deliver has bytes arrive, in chunks, and then everything happen that follows from them.
func (c *pipe) deliver(in []byte) {
	size := c.player.chunk
	if size == 0 {
		size = max(1, len(in))
	}
	for part := range slices.Chunk(in, size) {
		c.traffic(part)
		c.player.settle()
	}
}

// traffic does the event loop's work when bytes have arrived or the session asked for a wake-up.
func (c *pipe) traffic(in []byte) {
	if c.closed {
		return
	}
	in = bytes.Clone(in)
	over := c.Session.ServeInput(in)
	for i := range in {
		in[i] = 0xAA // the loop's buffer is used for other connections next
	}
	if over {
		c.hangUp()
	}
}

// Write and Unsent make a pipe the link of its session, to a client that reads all at once.
func (c *pipe) Write(b []byte) (int, error) { return c.sent.Write(b) }

func (c *pipe) WriteFinal(b []byte) (int, error) { return c.Write(b) }

func (c *pipe) Unsent() int { return 0 }

func (c *pipe) hangUp() {
	c.closed = true
	c.Session.Unregister()
}

// settle lets everything happen that does not need time to pass.
func (p *sessionPlayer) settle() {
	for again := true; again; {
		p.env.WaitQueue.Fire()
		again = p.later != nil && p.later.finish()
		p.memory.Wait()
		for p.rest == nil && p.env.DoesLongWork() {
			if p.later == nil || !p.later.finish() {
				runtime.Gosched()
			}
		}
		if p.rest != nil {
			p.rest()
		}
		var woken []string // with thousands of connections, sorting all would be most of a test's work
		for name, c := range p.conns {
			if c.woken.Load() {
				woken = append(woken, name)
			}
		}
		slices.Sort(woken)
		for _, name := range woken {
			if c := p.conns[name]; c.woken.Swap(false) {
				c.traffic(nil)
				again = true
			}
		}
	}
}

// Do implements transcripttest.Player.
func (p *sessionPlayer) Do(name string, command [][]byte, _ string) (string, error) {
	c := p.conns[name]
	if c == nil || c.closed {
		c = p.open(name)
	}
	c.deliver(frame(words(command)...))
	return c.next()
}

// Next implements transcripttest.Player.
func (p *sessionPlayer) Next(name string) (string, error) { return p.conns[name].next() }

func (c *pipe) next() (string, error) {
	reply, err := transcripttest.ReadReply(c.unread)
	switch {
	case !errors.Is(err, io.EOF):
		return reply, err
	case c.closed:
		return transcripttest.Closed, nil
	case c.Public().Awaits(wait.ForDueTime | wait.ForKey):
		return transcripttest.Held, nil
	}
	return transcripttest.None, nil
}

// HangUp implements transcripttest.Player.
func (p *sessionPlayer) HangUp(name string) error {
	p.conns[name].hangUp()
	delete(p.conns, name)
	p.settle()
	return nil
}

// Advance implements transcripttest.Player.
func (p *sessionPlayer) Advance(d time.Duration) {
	p.clock.Advance(d)
	p.settle()
}

// Close implements transcripttest.Player.
func (p *sessionPlayer) Close() (err error) {
	for name, c := range p.conns {
		if rest, _ := io.ReadAll(c.unread); len(rest) > 0 {
			err = errors.Join(err, fmt.Errorf("connection %q was sent more: %q", name, rest))
		}
	}
	return err
}
