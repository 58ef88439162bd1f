//go:build e2e

package data_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// Redis has the same replies for large values.
func TestLargeValuesAreAsInRedis(t *testing.T) {
	redis := testserver.StartRedis(t)
	conn, err := net.Dial("tcp", redis.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for seed := range uint64(3) {
		s := newTwins(t, 100+seed)
		s.also = func(words []string) []byte {
			request := fmt.Appendf(nil, "*%d\r\n", len(words))
			for _, w := range words {
				request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(w), w)
			}
			if _, err := conn.Write(request); err != nil {
				t.Fatal(err)
			}
			return readReply(t, in)
		}
		for range 4_000 {
			s.change()
		}
		for _, kind := range []string{"l", "s", "h", "z", "x", "e"} {
			s.do("DEL", kind+"0", kind+"1", kind+"2")
		}
	}
}

// readReply reads the bytes of one reply.
func readReply(t *testing.T, in *bufio.Reader) []byte {
	line, err := in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(string(line[1 : len(line)-2]))
	switch {
	case line[0] == '$' && n >= 0:
		text := make([]byte, n+2)
		if _, err := io.ReadFull(in, text); err != nil {
			t.Fatal(err)
		}
		return append(line, text...)
	case line[0] == '*':
		for range n {
			line = append(line, readReply(t, in)...)
		}
	}
	return line
}
