// Package wire reads commands and writes replies of the Redis protocol, for servers of tests.
package wire

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxWord bounds a word of a command.
const maxWord = 1 << 20

// Serve answers the commands of a connection until it ends. HELLO and CLIENT are answered as by a Redis server without
// RESP3. reply gets the words of the others and returns the reply without the final line end; an empty one ends the
// connection.
func Serve(c io.ReadWriter, reply func(words []string) string) {
	for r := bufio.NewReader(c); ; {
		words, err := readCommand(r)
		if err != nil || len(words) == 0 {
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
		if length < 0 || length > maxWord {
			return nil, fmt.Errorf("a word of %d bytes", length)
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
