package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Scripted is a server whose replies a test chooses. HELLO and CLIENT are answered as by a Redis server without RESP3.
type Scripted struct {
	Address  string
	listener net.Listener
}

// NewScripted listens on a free loopback port. reply gets a command's words and returns the reply in RESP, without the
// final line end; an empty one closes the connection.
func NewScripted(reply func(words []string) string) (*Scripted, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Scripted{Address: listener.Addr().String(), listener: listener}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(c, reply)
		}
	}()
	return s, nil
}

// Close ends the server.
func (s *Scripted) Close() { s.listener.Close() }

func serve(c net.Conn, reply func([]string) string) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		answer := ""
		switch strings.ToUpper(words[0]) {
		case "HELLO":
			answer = "-ERR unknown command 'HELLO'"
		case "CLIENT", "PING":
			answer = "+OK"
		default:
			answer = reply(words)
		}
		if answer == "" {
			return
		}
		if _, err := io.WriteString(c, answer+"\r\n"); err != nil {
			return
		}
	}
}

func readCommand(r *bufio.Reader) (words []string, err error) {
	count, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	for range count {
		length, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, length+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:length]))
	}
	return words, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("expected %q, got %q", kind, line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
