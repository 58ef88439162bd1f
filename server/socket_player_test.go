package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/server/conn/registry"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/transcripttest"
)

// socketPlayer plays over TCP against a server in this process.
type socketPlayer struct {
	*testHost
	t     testing.TB
	all   *testing.T // the test of all transcripts
	stop  func() error
	conns map[string]*socketClient

	connect func() socket
}

// socket is a connection whose writing side can be closed.
type socket interface {
	net.Conn
	CloseWrite() error
}

type socketClient struct {
	socket
	unread *bufio.Reader
	closed bool
}

func newSocketPlayer(t, all *testing.T, replace func(*decider.Local) decider.Decider) *socketPlayer {
	h := newHost(t, replace)
	stop := h.start(t)
	p := &socketPlayer{testHost: h, t: t, all: all, stop: stop, conns: map[string]*socketClient{}}
	p.connect = func() socket { return p.dial(t) }
	return p
}

// newTLSPlayer is a socketPlayer whose clients come by TLS.
func newTLSPlayer(t, all *testing.T) *socketPlayer {
	certificates := newCertificates(t)
	h := newHost(t, nil, certificates.use)
	p := &socketPlayer{testHost: h, t: t, all: all, stop: h.start(t), conns: map[string]*socketClient{}}
	p.connect = func() socket { return certificates.dial(t, h, nil) }
	return p
}

// sessionOf is the server's side of a client, nil once it is closed.
func (p *socketPlayer) sessionOf(c *socketClient) *registry.Connection {
	for _, s := range p.env.Registry.All() {
		if s.Addr() == c.LocalAddr().String() {
			return s
		}
	}
	return nil
}

// Do implements transcripttest.Player.
func (p *socketPlayer) Do(name string, command [][]byte, want string) (string, error) {
	c := p.conns[name]
	if c == nil || c.closed {
		conn := p.connect()
		c = &socketClient{socket: conn, unread: bufio.NewReader(conn)}
		p.conns[name] = c
	}
	if _, err := c.Write(frame(words(command)...)); err != nil && !gone(err) {
		return "", err
	}
	switch want {
	case transcripttest.None:
		return want, nil
	case transcripttest.Held:
		eventually(p.t, "the reply is held", func() bool {
			s := p.sessionOf(c)
			return s != nil && s.Awaits(wait.ForDueTime|wait.ForAnswer|wait.ForKey)
		})
		return want, nil
	}
	return p.next(c)
}

func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Next implements transcripttest.Player.
func (p *socketPlayer) Next(name string) (string, error) { return p.next(p.conns[name]) }

func (p *socketPlayer) next(c *socketClient) (string, error) {
	reply, err := transcripttest.ReadReply(c.unread)
	if err != nil && gone(err) {
		c.closed = true
		p.awaitEnd(c)
		return transcripttest.Closed, nil
	}
	return reply, err
}

// awaitEnd waits until the server has ended the session of a closed connection: the tokens that it waited for are back
// by then.
func (p *socketPlayer) awaitEnd(c *socketClient) {
	eventually(p.t, "the session has ended", func() bool { return p.sessionOf(c) == nil })
}

// HangUp implements transcripttest.Player.
func (p *socketPlayer) HangUp(name string) error {
	c := p.conns[name]
	delete(p.conns, name)
	if err := c.Close(); err != nil {
		return err
	}
	p.awaitEnd(c)
	return nil
}

// Advance implements transcripttest.Player.
func (p *socketPlayer) Advance(d time.Duration) { p.clock.Advance(d) }

// Close implements transcripttest.Player.
func (p *socketPlayer) Close() (err error) {
	for name, c := range p.conns {
		if c.closed {
			continue
		}
		_ = c.CloseWrite()
		if rest, _ := io.ReadAll(c.unread); len(rest) > 0 {
			err = errors.Join(err, fmt.Errorf("connection %q was sent more: %q", name, rest))
		}
	}
	// Event loops take half a second to stop: nobody waits for that before the end.
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	p.all.Cleanup(func() {
		if err := <-ended; err != nil {
			p.all.Errorf("shutting down: %v", err)
		}
	})
	return err
}
