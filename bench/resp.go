package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// A reply is a RESP2 value of the kinds used here: a line, a bulk string, an integer, or an array. Texts in an array
// are dropped.
type reply struct {
	text     string  // simple or bulk string
	integers []int64 // an integer, or the integers of an array
}

// errReply marks an error reply of the server, as opposed to a broken connection.
var errReply = errors.New("the server answered an error")

// maxReplyBytes bounds a bulk string; every expected reply is shorter.
const maxReplyBytes = 1 << 20

// readReply reads one reply. An error reply comes back as errReply.
func readReply(r *bufio.Reader) (reply, error) {
	line, err := readLine(r)
	if err != nil {
		return reply{}, err
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return reply{text: string(rest)}, nil
	case '-':
		return reply{}, fmt.Errorf("%w: %s", errReply, rest)
	case ':':
		n, err := strconv.ParseInt(string(rest), 10, 64)
		return reply{integers: []int64{n}}, err
	case '$':
		return readBulk(r, string(rest))
	case '*':
		return readArray(r, string(rest))
	}
	return reply{}, fmt.Errorf("cannot read a reply that begins %q", line)
}

func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("cannot read the reply line %q", line)
	}
	return line[:len(line)-2], nil
}

func readBulk(r *bufio.Reader, length string) (reply, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < -1 || n > maxReplyBytes {
		return reply{}, fmt.Errorf("bulk string of length %q", length)
	}
	if n == -1 {
		return reply{}, nil
	}
	buf := make([]byte, n+2)
	if _, err := io.ReadFull(r, buf); err != nil {
		return reply{}, err
	}
	return reply{text: string(buf[:n])}, nil
}

func readArray(r *bufio.Reader, length string) (reply, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > 64 {
		return reply{}, fmt.Errorf("array of length %q", length)
	}
	out := reply{integers: make([]int64, 0, n)}
	for range n {
		element, err := readReply(r)
		if err != nil {
			return reply{}, err
		}
		out.integers = append(out.integers, element.integers...)
	}
	return out, nil
}

// appendCommand encodes a command as an array of bulk strings.
func appendCommand(b []byte, args ...string) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, "\r\n"...)
	for _, a := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(a)), 10)
		b = append(b, "\r\n"...)
		b = append(b, a...)
		b = append(b, "\r\n"...)
	}
	return b
}

const askTimeout = 10 * time.Second

// ask sends one command on a separate connection.
func ask(addr string, args ...string) (reply, error) {
	conn, err := net.DialTimeout("tcp", addr, askTimeout)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return reply{}, err
	}
	if _, err := conn.Write(appendCommand(nil, args...)); err != nil {
		return reply{}, err
	}
	return readReply(bufio.NewReader(conn))
}

// askInteger asks for an integer.
func askInteger(addr string, args ...string) (int64, error) {
	r, err := ask(addr, args...)
	if err != nil {
		return 0, err
	}
	if len(r.integers) != 1 {
		return 0, fmt.Errorf("%v is answered %+v", args, r)
	}
	return r.integers[0], nil
}

// infoNumber reads a number from a section of INFO.
func infoNumber(address, section, name string) (float64, error) {
	reply, err := ask(address, "INFO", section)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(reply.text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+":"); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("INFO %s has no %s", section, name)
}
