//go:build e2e

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// exactConn is a connection that sends commands as RESP and reads replies as raw bytes.
type exactConn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

// replyTimeout is the time without a reply after which the server counts as stuck.
const replyTimeout = time.Minute

func dialExact(address string) (*exactConn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return wrapExact(c), nil
}

func wrapExact(c net.Conn) *exactConn { return &exactConn{Conn: c, in: bufio.NewReaderSize(c, 1<<16)} }

func (c *exactConn) send(commands ...[]string) error {
	c.out = c.out[:0]
	for _, words := range commands {
		c.out = fmt.Appendf(c.out, "*%d\r\n", len(words))
		for _, word := range words {
			c.out = fmt.Appendf(c.out, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	_ = c.SetDeadline(time.Now().Add(replyTimeout))
	_, err := c.Write(c.out)
	return err
}

// reply is the bytes of the next reply.
func (c *exactConn) reply() (string, error) {
	all, err := c.appendReply(nil)
	return string(all), err
}

func (c *exactConn) appendReply(all []byte) ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	all = append(all, line...)
	if err != nil {
		return all, err
	}
	switch line[0] {
	case '$', '=':
		n, err := strconv.Atoi(string(line[1 : len(line)-2]))
		if err != nil || n < 0 {
			return all, err
		}
		at := len(all)
		all = append(all, make([]byte, n+2)...)
		_, err = io.ReadFull(c.in, all[at:])
		return all, err
	case '*', '~', '%':
		n, err := strconv.Atoi(string(line[1 : len(line)-2]))
		if line[0] == '%' {
			n *= 2
		}
		for range max(0, n) {
			if all, err = c.appendReply(all); err != nil {
				break
			}
		}
		return all, err
	}
	return all, nil
}

// ask sends one command and returns the bytes that answer it.
func (c *exactConn) ask(words ...string) (string, error) {
	if err := c.send(words); err != nil {
		return "", err
	}
	return c.reply()
}

const usageInError = "; usage: "

var arityError = regexp.MustCompile(`(-ERR wrong number of arguments for '[a-z.|]+' command)` + usageInError + `[^\r]+`)

// isReply reports whether a reply is the one that the exact model gives. The model does not know the usage of every command
// that is called with a wrong number of arguments.
func isReply(got, want string) bool { return withoutUsage(got) == withoutUsage(want) }

func withoutUsage(reply string) string {
	if !strings.Contains(reply, usageInError) {
		return reply
	}
	return arityError.ReplaceAllString(reply, "$1")
}
