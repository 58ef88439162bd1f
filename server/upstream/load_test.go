package upstream_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// client is a connection to a server.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn, bufio.NewReader(conn)}
}

// do sends a command and returns the integers of the reply, or its error.
func (c *client) do(command string) (ints []int64, failure string) {
	if _, err := c.conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err.Error()
	}
	return c.reply()
}

// reply reads a reply.
func (c *client) reply() (ints []int64, failure string) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err.Error()
	}
	if line = strings.TrimSpace(line); line[0] == '-' {
		return nil, line[1:]
	}
	count := 1
	if line[0] == '*' {
		count, _ = strconv.Atoi(line[1:])
		line = ""
	}
	for range count {
		if line == "" {
			if line, err = c.in.ReadString('\n'); err != nil {
				return nil, err.Error()
			}
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line[1:]), 10, 64)
		if line = ""; err != nil {
			continue
		}
		ints = append(ints, n)
	}
	return ints, ""
}

// text returns the bulk string that answers a command.
func (c *client) text(command string) string {
	if _, err := c.conn.Write([]byte(command + "\r\n")); err != nil {
		return ""
	}
	line, _ := c.in.ReadString('\n')
	length, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "$")))
	text := make([]byte, length+2)
	_, _ = io.ReadFull(c.in, text)
	return string(text)
}

// load has callers of one limit, which hardly refills.
type load struct {
	t        testing.TB
	capacity int64
	home     string // address
	key      string // "" for g:1
	rate     string // "" for 1/6h
	several  bool   // asks for a limit of the region, too
	more     int    // requests for single limits that are sent with each, before its reply

	asked, granted, uncertain, refused, broken atomic.Int64
	callers                                    sync.WaitGroup
	begun                                      atomic.Uint64 // callers
	ended                                      atomic.Bool
}

// begin starts a caller that asks a server again and again, and connects again after a failure.
func (l *load) begin(address string, pause time.Duration) {
	random := rand.New(rand.NewPCG(testsize.Seed(), l.begun.Add(1)))
	l.callers.Go(func() {
		var c *client
		for !l.ended.Load() {
			if c == nil {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					time.Sleep(50 * time.Millisecond)
					continue
				}
				c = &client{conn, bufio.NewReader(conn)}
			}
			tokens, isOpen := 1+random.Int64N(3), true
			_, _ = c.conn.Write([]byte(strings.Repeat(l.command(tokens)+"\r\n", l.more)))
			for range l.more {
				isOpen = isOpen && l.count(c.reply())
			}
			if !isOpen || !l.count(l.ask(c, tokens)) {
				c.conn.Close()
				c = nil
			}
			time.Sleep(time.Duration(random.Int64N(int64(2*pause) + 1)))
		}
		if c != nil {
			c.conn.Close()
		}
	})
}

// count counts a reply, and reports whether there was one.
func (l *load) count(ints []int64, failure string) (isOpen bool) {
	l.asked.Add(1)
	switch {
	case failure == "" && len(ints) == 5:
		l.granted.Add(ints[0])
	case strings.HasPrefix(failure, "UNCERTAIN "):
		l.uncertain.Add(1)
	case strings.HasPrefix(failure, "UPSTREAM "), strings.HasPrefix(failure, "CLUSTERDOWN "), strings.HasPrefix(failure, "BUSY "):
		l.refused.Add(1)
	case strings.HasPrefix(failure, "ERR ") || strings.HasPrefix(failure, "WRONGTYPE "):
		l.t.Error(failure)
		l.ended.Store(true)
	default:
		l.broken.Add(1) // the connection; the request may have been granted
		return false
	}
	return true
}

// ask asks for tokens, and returns a reply of five integers, the granted ones first.
func (l *load) ask(c *client, tokens int64) (ints []int64, failure string) {
	if !l.several {
		return c.do(l.command(tokens))
	}
	ints, failure = c.all(fmt.Sprintf("RL.ALL TB %s TB mine 1000000 1000000/s TOKENS %d", l.limit(), tokens))
	return ints[:min(len(ints), 5)], failure
}

func (l *load) command(tokens int64) string {
	return fmt.Sprintf("TB.ACQUIRE %s %d", l.limit(), tokens)
}

func (l *load) limit() string {
	return fmt.Sprintf("%s %d %s", cmp.Or(l.key, "g:1"), l.capacity, cmp.Or(l.rate, "1/6h"))
}

func (l *load) end() {
	l.ended.Store(true)
	l.callers.Wait()
}

// rest takes all tokens that home still has.
func (l *load) rest() (tokens int64) {
	c := dial(l.t, l.home)
	for {
		ints, failure := c.do(l.command(l.capacity) + " UPTO")
		if failure != "" || ints[0] == 0 {
			return tokens
		}
		tokens += ints[0]
	}
}

func (l *load) report(t testing.TB) {
	t.Logf("%d requests: %d tokens were granted, %d requests uncertain, %d refused, %d connections broken", l.asked.Load(), l.granted.Load(), l.uncertain.Load(), l.refused.Load(), l.broken.Load())
}

// cutFor cuts a way for a time, in which its connections may end.
func cutFor(p *proxy, length time.Duration, ends bool) {
	p.isCut.Store(true)
	time.Sleep(length)
	if ends {
		p.closeAll()
	}
	p.isCut.Store(false)
}
