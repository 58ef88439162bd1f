//go:build e2e

package compattest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// harnessProxy passes connections on to a server, and answers what Redis's tests ask of a server between two tests, and Stint
// does not have: FUNCTION FLUSH, and settings of how Redis stores values in memory. Such a command goes on as an ECHO or as
// a question for no setting, so that replies need not be read.
func harnessProxy(t *testing.T, server string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_ = passCommands(upstream, bufio.NewReader(client))
				_ = upstream.(*net.TCPConn).CloseWrite()
			}()
			go func() {
				_, _ = io.Copy(client, upstream)
				_ = client.Close()
				_ = upstream.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// passCommands copies a client's commands. From the first byte on that is not of a well-formed array, it copies bytes.
func passCommands(to io.Writer, from *bufio.Reader) error {
	for {
		raw, args, err := readCommand(from)
		if errors.Is(err, errNoCommand) {
			if _, err := to.Write(raw); err != nil {
				return err
			}
			_, err = io.Copy(to, from)
			return err
		}
		if err != nil {
			_, _ = to.Write(raw)
			return err
		}
		if instead := answerOfHarness(args); instead != nil {
			raw = []byte(fmt.Sprintf("*%d\r\n", len(instead)))
			for _, word := range instead {
				raw = fmt.Appendf(raw, "$%d\r\n%s\r\n", len(word), word)
			}
		}
		if _, err := to.Write(raw); err != nil {
			return err
		}
	}
}

var errNoCommand = errors.New("not an array of bulk strings")

func readCommand(from *bufio.Reader) (raw []byte, args []string, err error) {
	if next, err := from.Peek(1); err != nil || next[0] != '*' {
		return nil, nil, cmp.Or(err, errNoCommand)
	}
	line := func(prefix byte) (int, error) {
		text, err := from.ReadSlice('\n')
		raw = append(raw, text...)
		if errors.Is(err, bufio.ErrBufferFull) {
			return 0, errNoCommand
		}
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text[1:])))
		if err != nil || text[0] != prefix || n < 0 || n > 1<<20 && prefix == '*' || n > 512<<20 {
			return 0, errNoCommand
		}
		return n, nil
	}
	count, err := line('*')
	for ; err == nil && count > 0; count-- {
		var size int
		if size, err = line('$'); err != nil {
			break
		}
		text := make([]byte, size+2)
		n, readErr := io.ReadFull(from, text)
		raw, err = append(raw, text[:n]...), readErr
		args = append(args, string(text[:min(n, size)]))
	}
	return raw, args, err
}

// answerOfHarness returns the command that has the reply that the tests expect, nil if the server has it.
func answerOfHarness(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	switch name, second := strings.ToLower(args[0]), strings.ToLower(args[1]); {
	case name == "function" && second == "flush":
		return []string{"ECHO", "OK"}
	case name == "config" && second == "set" && len(args) >= 3 && isMemoryLayout(args[2]):
		return []string{"ECHO", "OK"}
	}
	return nil
}

// isMemoryLayout reports whether a setting of Redis is about how it stores values.
func isMemoryLayout(setting string) bool {
	for _, part := range []string{"ziplist", "listpack", "intset", "list-compress", "activerehashing", "save", "appendonly", "latency-monitor", "close-on-oom"} {
		if strings.Contains(setting, part) {
			return true
		}
	}
	return false
}
