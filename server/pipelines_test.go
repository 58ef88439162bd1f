package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/conn"
)

// A client that reads all the time gets every reply, however large and many they are, and however much it sends
// meanwhile.
func TestClientThatReads(t *testing.T) {
	h := serve(t)
	setup := h.dial(t)
	expect(t, setup, append(frames("SETRANGE big 999999 x"), frame("EVAL", "return redis.call('HSET', KEYS[1], 'f', redis.call('GET', KEYS[2]))", "2", "hash", "big")...), ":1000000\r\n:1\r\n")
	many := bytes.Repeat(frames("PING"), 200_000) // 2.8 MB
	for name, test := range map[string]struct {
		send []byte
		want int // strings of a million bytes
	}{
		"a pipeline":              {bytes.Repeat(frames("GET big"), 32), 32},
		"with more input":         {append(bytes.Repeat(frames("GET big"), 40), many...), 40},
		"of scripts":              {bytes.Repeat(frame("EVAL", "return redis.call('GET', KEYS[1])", "1", "big"), 32), 32},
		"one command":             {frame(append([]string{"MGET"}, repeated(2, "big")...)...), 2},
		"a transaction":           {frames("MULTI", "GET big", "GET big", "GET big", "EXEC"), 3},
		"one that is too long":    {append(append(frames("MULTI"), bytes.Repeat(frames("GET big"), 32)...), frames("EXEC")...), 0},
		"input while it is busy":  {append(frame("EVAL", "for i = 1, 400000 do end return 1", "0"), many...), 0},
		"of hashes":               {bytes.Repeat(frames("HGET hash f"), 32), 32},
		"that lists whole hashes": {bytes.Repeat(frames("HGETALL hash"), 32), 32},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.dial(t)
			wantStrings(t, c, append(test.send, frames("ECHO the-end")...), 1_000_000, test.want)
		})
	}
	if n := h.env.Stats.SlowReaders.Load(); n > 0 {
		t.Errorf("%d clients were taken for slow readers", n)
	}
}

// wantStrings sends commands, and reads all replies meanwhile. Some of them are long strings.
func wantStrings(t *testing.T, c net.Conn, send []byte, length, want int) {
	t.Helper()
	go func() { _, _ = c.Write(send) }()
	r, found := bufio.NewReaderSize(c, 2<<20), 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d strings: %v", found, err)
		}
		switch {
		case line == "the-end\r\n":
			if found != want {
				t.Errorf("%d strings, want %d", found, want)
			}
			return
		case len(line) == length+2:
			found++
		}
	}
}

// slowLink is the link to a client that reads some bytes now and then.
type slowLink struct {
	*pipe
	unsent, most int
}

// Write implements [conn.ReplyConn].
func (l *slowLink) Write(b []byte) (int, error) {
	l.unsent += len(b)
	l.most = max(l.most, l.unsent)
	return l.pipe.Write(b)
}

// Unsent implements [conn.ReplyConn].
func (l *slowLink) Unsent() int { return l.unsent }

// A client that reads slowly is paused before the unread replies of a pipeline exceed their bound, and is not closed.
func TestClientThatReadsSlowly(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "owner", "SETRANGE big 999999 x", "EVAL return_0 0")
	if out := p.do(t, "owner", "COPY big other"); out != ":1\r\n" {
		t.Fatal(out)
	}
	for name, test := range map[string]struct {
		send      []byte
		replies   int
		mayExceed int // of the bound on output, with one reply that is not divided
	}{
		"a pipeline":      {bytes.Repeat(frames("GET big"), 32), 32, 1 << 20},
		"of scripts":      {bytes.Repeat(frame("EVAL", "return redis.call('GET', KEYS[1])", "1", "big"), 32), 32, 1 << 20},
		"transactions":    {bytes.Repeat(frames("MULTI", "GET big", "GET big", "EXEC"), 16), 32, 1 << 20},
		"several at once": {bytes.Repeat(frames("MGET big other"), 16), 32, 1 << 20},
	} {
		c := p.open(name)
		link := &slowLink{pipe: c}
		c.Attach(link, nil)
		c.traffic(test.send)
		for steps := 0; !c.closed && bytes.Count(c.sent.Bytes(), []byte("$1000000\r\n")) < test.replies; steps++ {
			link.unsent = max(0, link.unsent-100_000)
			c.woken.Store(true)
			if p.settle(); steps > 1000 {
				t.Fatalf("%s: only %d bytes of replies", name, c.sent.Len())
			}
		}
		if c.closed {
			t.Errorf("%s: closed after %d bytes of replies", name, c.sent.Len())
		}
		if bound := p.Config().OutputBufferBytes + test.mayExceed; link.most > bound {
			t.Errorf("%s: %d bytes were unread, want at most %d", name, link.most, bound)
		}
		delete(p.conns, name)
	}
}

// A client that sends more while the server decides, or while its turn is still to come, is held up: it did nothing
// wrong.
func TestInputBeyondTheBufferWaits(t *testing.T) {
	p := newLaterPlayer(t, 0)
	c := p.open("a")
	c.traffic(frames("GET x"))
	size := 0
	for c.TakesInput() {
		more := bytes.Repeat(frames("PING"), conn.MaxInputBytes/len(frames("PING")))
		c.traffic(more)
		if size += len(more); c.closed || size > p.Config().QueryBufferBytes {
			t.Fatalf("closed: %t, after %d bytes", c.closed, size)
		}
	}
	if p.settle(); !c.TakesInput() || !bytes.HasSuffix(c.sent.Bytes(), []byte("+PONG\r\n")) {
		t.Errorf("takes input: %t, after %d bytes of replies", c.TakesInput(), c.sent.Len())
	}
}

// So is a client that sends more than the buffer holds while it reads large replies.
func TestInputWhileRepliesAreRead(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "owner", "SETRANGE big 999999 x")
	c := p.open("a")
	link := &slowLink{pipe: c}
	c.Attach(link, nil)
	c.traffic(bytes.Repeat(frames("GET big"), 32))
	more := bytes.Repeat(frames("PING"), conn.MaxInputBytes/len(frames("PING")))
	for size := 0; size < 2*p.Config().QueryBufferBytes; {
		if c.TakesInput() {
			c.traffic(more)
			size += len(more)
		} else {
			link.unsent = max(0, link.unsent-1_000_000)
			c.woken.Store(true)
		}
		if p.settle(); c.closed {
			t.Fatalf("closed after %d bytes of input", size)
		}
	}
}

// A client may send all its commands, close its side of the connection and read, as "cat commands | nc" does: every
// command is executed and answered.
func TestCommandsBeforeTheEndOfInput(t *testing.T) {
	certs := newCertificates(t)
	h := serve(t, certs.use)
	const commands = 60_000
	for name, c := range map[string]interface {
		io.ReadWriter
		CloseWrite() error
	}{"tcp": h.dial(t), "tls": certs.dial(t, h, nil)} {
		input := bytes.Repeat([]byte("INCR "+name+"\r\n"), commands)
		written := make(chan error, 1)
		go func() {
			_, err := c.Write(input)
			written <- errors.Join(err, c.CloseWrite())
		}()
		out, err := io.ReadAll(c)
		if last := fmt.Sprintf(":%d\r\n", commands); err != nil || <-written != nil || !strings.HasSuffix(string(out), last) {
			t.Errorf("%s: %d of %d commands were answered, and the last reply is %q: %v", name, bytes.Count(out, []byte("\n")), commands, out[max(0, len(out)-12):], err)
		}
	}
}
