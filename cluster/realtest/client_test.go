//go:build e2e

package realtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stintdb/stint/internal/testwait"
)

// reply is a server's reply: a line, a bulk string, an integer, or items.
type reply struct {
	kind    byte // as on the wire; '_' for nothing
	text    string
	integer int64
	items   []reply
}

// field is the value behind a name in an array of names and values, or in a map.
func (r reply) field(name string) string {
	for i := 0; i+1 < len(r.items); i += 2 {
		if r.items[i].text == name {
			return r.items[i+1].String()
		}
	}
	return ""
}

func (r reply) String() string {
	if r.kind == ':' {
		return strconv.FormatInt(r.integer, 10)
	}
	return r.text
}

// serverError is an error that a server answered with.
type serverError string

func (e serverError) Error() string { return string(e) }

// readReply reads one reply. An error reply comes back as a serverError.
func readReply(r *bufio.Reader) (reply, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	if len(line) < 3 {
		return reply{}, fmt.Errorf("the line %q of a reply", line)
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return reply{kind: kind, text: rest}, nil
	case '-':
		return reply{}, serverError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return reply{}, err
	case kind == ':':
		return reply{kind: kind, integer: n}, nil
	case n < 0:
		return reply{kind: '_'}, nil
	case kind == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(r, b)
		return reply{kind: kind, text: string(b[:n])}, err
	case kind == '*':
		all := reply{kind: kind, items: make([]reply, n)}
		for i := range all.items {
			if all.items[i], err = readReply(r); err != nil {
				return all, err
			}
		}
		return all, nil
	}
	return reply{}, fmt.Errorf("the line %q of a reply", line)
}

func appendCommand(b []byte, args ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// conn is a client's connection.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

// answerTimeout is how long a client waits: far longer than a node may take, --decide-timeout being a second.
const answerTimeout = testwait.Limit

func dial(address string) (*conn, error) {
	c, err := net.DialTimeout("tcp", address, answerTimeout)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReader(c)}, nil
}

// isOver reports whether the server has closed the connection, as pools of connections ask before they use one.
func (c *conn) isOver() (over bool) {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		over = n == 0 && err == nil || err != nil && err != syscall.EAGAIN
	})
	return over || err != nil
}

// send sends commands in one write.
func (c *conn) send(commands ...[]string) error {
	c.out = c.out[:0]
	for _, args := range commands {
		c.out = appendCommand(c.out, args...)
	}
	_ = c.SetDeadline(time.Now().Add(answerTimeout))
	_, err := c.Write(c.out)
	return err
}

// ask sends one command on a new connection.
func ask(address string, args ...string) (reply, error) {
	c, err := dial(address)
	if err != nil {
		return reply{}, err
	}
	defer c.Close()
	if err := c.send(args); err != nil {
		return reply{}, err
	}
	return readReply(c.in)
}

// isUncertain and isRefused recognise the two errors that a cluster may return; every other is a defect.
func isUncertain(err error) bool {
	var e serverError
	return errors.As(err, &e) && strings.HasPrefix(string(e), "UNCERTAIN ")
}

func isRefused(err error) bool {
	var e serverError
	return errors.As(err, &e) && strings.HasPrefix(string(e), "CLUSTERDOWN ")
}
