package server

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/resp"
)

const tooLongArgument = "-ERR argument: at most 1048576 bytes (--max-bulk-size), got 1048577: nothing was executed\r\n"

// conversations are bytes that arrive and bytes that are answered; closed says that the server then hangs up.
var conversations = []struct {
	name, in, out string
	closed        bool
}{
	{"count that is no number", "*abc\r\n", "-ERR Protocol error: invalid multibulk length\r\n", true},
	{"huge count", "*2147483647\r\n", "-ERR Protocol error: invalid multibulk length: at most 65536 arguments (--max-args), got 2147483647, which are too many to skip\r\n", true},
	{"negative count", "*-1\r\nPING\r\n", "+PONG\r\n", false},
	{"empty commands", "*0\r\n\r\n\r\nPING\r\n", "+PONG\r\n", false},
	{"negative length", "*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n", true},
	{"huge length", "*1\r\n$999999999999\r\n", "-ERR Protocol error: invalid bulk length: at most 1048576 bytes (--max-bulk-size), got 999999999999, which are too many to skip\r\n", true},
	{"length that is no number", "*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n", true},
	{"length just beyond the limit", string(frame("ECHO", strings.Repeat("x", 1<<20+1))) + "PING\r\n", tooLongArgument + "+PONG\r\n", false},
	{"length beyond the limit first", "*3\r\n$1048577\r\n" + strings.Repeat("FLUSHALL\n", 1<<17)[:1<<20+1] + "\r\n$0\r\n\r\n$1\r\na\r\nPING\r\n", tooLongArgument + "+PONG\r\n", false},
	{"length beyond the limit in a pipeline", "ECHO a\r\n" + string(frame("SET", "s", strings.Repeat("x", 1<<20+1))) + "GET s\r\nTB.ACQUIRE t 1 1/s\r\n",
		"$1\r\na\r\n" + tooLongArgument + "$-1\r\n*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n", false},
	{"length beyond the limit in a transaction", "MULTI\r\nSET s 1\r\n" + string(frame("SET", "s", strings.Repeat("x", 1<<20+1))) + "SET s 2\r\nEXEC\r\nGET s\r\n",
		"+OK\r\n+QUEUED\r\n" + tooLongArgument + "+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n$-1\r\n", false},
	{"length beyond the limit without replies", "CLIENT REPLY OFF\r\n" + string(frame("ECHO", strings.Repeat("x", 1<<20+1))) + "CLIENT REPLY ON\r\n", "+OK\r\n", false},
	{"length beyond the limit, without its line end", "*1\r\n$1048577\r\n" + strings.Repeat("x", 1<<20+4), "-ERR Protocol error: expected CRLF after bulk\r\n", true},
	{"array where a name belongs", "*1\r\n*1\r\n$4\r\nPING\r\n", "-ERR Protocol error: expected '$', got '*'\r\n", true},
	{"array where an argument belongs", "*2\r\n$4\r\nECHO\r\n*1\r\n$1\r\na\r\n", "-ERR Protocol error: expected '$', got '*'\r\n", true},
	{"length too short", "*2\r\n$4\r\nECHO\r\n$1\r\nab\r\n", "-ERR Protocol error: expected CRLF after bulk\r\n", true},
	{"unbalanced quotes", "ECHO \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n", true},
	{"quotes in the middle", "ECHO \"a\"b\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n", true},
	{"line too long", strings.Repeat("x", 1<<20+1000) + "\r\nPING\r\n", "-ERR line of text: at most 1048576 bytes (--max-bulk-size): nothing was executed\r\n+PONG\r\n", false},
	{"HTTP after a line too long", "POST /" + strings.Repeat("x", 1<<20+1000) + " HTTP/1.1\r\nHost: a\r\nFLUSHALL\r\n", "-ERR line of text: at most 1048576 bytes (--max-bulk-size): nothing was executed\r\n", true},
	{"good ones first", "PING\r\n*1\r\n$4\r\nPING\r\n*x\r\n", "+PONG\r\n+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n", true},
	{"none after", "*x\r\nPING\r\n", "-ERR Protocol error: invalid multibulk length\r\n", true},
	{"limiters first", "TB.ACQUIRE k 1 1/s\r\nTB.ACQUIRE k 1 1/s\r\n*x\r\n",
		"*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n*5\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n-ERR Protocol error: invalid multibulk length\r\n", true},
	{"in a transaction", "MULTI\r\nPING\r\n*x\r\n", "+OK\r\n+QUEUED\r\n-ERR Protocol error: invalid multibulk length\r\n", true},
	{"inline escapes", `ECHO "\x00\xff\r\n\"\\"` + "\r\n", "$6\r\n\x00\xff\r\n\"\\\r\n", false},
	{"inline single quotes", `ECHO 'it\'s \n'` + "\r\n", "$7\r\nit's \\n\r\n", false},
	{"a reply sent as a command", "$4\r\nPING\r\n", "-ERR unknown command '$4', with args beginning with: \r\n+PONG\r\n", false},
	{"HTTP", "GET / HTTP/1.1\r\n\r\n", "-ERR wrong number of arguments for 'get' command\r\n", false},
	{"HTTP with commands in its body", "PING\r\nPOST / HTTP/1.1\r\nFLUSHALL\r\n", "+PONG\r\n", true},
	{"HTTP after its first line", "Host: 127.0.0.1:6379\r\n\r\nFLUSHALL\r\n", "", true},
	{"TLS", "\x16\x03\x01\x00\x05hello\nFLUSHALL\n", "-" + resp.ErrTLS.Error() + "\r\n", true},
	{"control characters", "\x1b[31m \xff\u202e\r\n", `-ERR unknown command '\x1b[31m', with args beginning with: '\xff\u202e' ` + "\r\n", false},
	{"name with line ends", "*1\r\n$4\r\na\r\nb\r\n", "-ERR unknown command 'a  b', with args beginning with: \r\n", false},
	{"truncated", "*1\r\n$4\r\nPI", "", false},
	{"truncated after good ones", "PING\r\n*2\r\n$4\r\nECHO\r\n$5\r\nhel", "+PONG\r\n", false},
	{"quit in the middle", "PING\r\nQUIT\r\nPING\r\n", "+PONG\r\n+OK\r\n", true},
	{"longest argument", string(frame("ECHO", strings.Repeat("x", 1<<20))), "$1048576\r\n" + strings.Repeat("x", 1<<20) + "\r\n", false},
	{"too many arguments", string(frame(make([]string, 65_537)...)) + "PING\r\n", "-ERR arguments: at most 65536 (--max-args), got 65537: nothing was executed\r\n+PONG\r\n", false},
	{"most arguments", string(frame(append([]string{"ECHO"}, make([]string, 65_535)...)...)), "-ERR wrong number of arguments for 'echo' command\r\n", false},
}

func TestBadFrames(t *testing.T) {
	h := serve(t)
	for _, c := range conversations {
		for chunk, way := range map[int]string{0: "at once", 1: "byte by byte"} {
			if chunk == 1 && len(c.in) > 10_000 {
				chunk, way = 997, "in chunks"
			}
			p := newSessionPlayer(t, chunk)
			s := p.open("")
			s.deliver([]byte(c.in))
			if got := s.sent.String(); got != c.out || s.closed != c.closed {
				t.Errorf("%s, %s: %q, closed %v\nwant %q, %v", c.name, way, got, s.closed, c.out, c.closed)
			}
		}
		conn := h.dial(t)
		if _, err := conn.Write([]byte(c.in)); err != nil && !c.closed {
			t.Error(c.name, err)
		}
		if !c.closed {
			_ = conn.CloseWrite()
		}
		if got, err := io.ReadAll(conn); string(got) != c.out || err != nil && !gone(err) {
			t.Errorf("%s, over a socket: %q, want %q (%v)", c.name, got, c.out, err)
		}
		conn.Close()
	}
	eventually(t, "all have gone", func() bool { return h.env.Registry.Count() == 0 })
}

// A frame of one connection is not disturbed by the bytes of others that arrive in between.
func TestInterleavedFrames(t *testing.T) {
	p := newSessionPlayer(t, 1)
	var ins [][]byte
	for i := range 5 {
		ins = append(ins, frames(fmt.Sprintf("ECHO %d", i), "MULTI", fmt.Sprintf("TB.ACQUIRE %d %d 1/s", i, i+1), "EXEC"))
		p.open(fmt.Sprint(i))
	}
	for at := range ins[0] {
		for i, in := range ins {
			p.conns[fmt.Sprint(i)].deliver(in[at : at+1])
		}
	}
	for i := range ins {
		want := fmt.Sprintf("$1\r\n%d\r\n+OK\r\n+QUEUED\r\n*1\r\n*5\r\n:1\r\n:%d\r\n:%d\r\n:0\r\n:1000\r\n", i, i+1, i)
		if got := p.conns[fmt.Sprint(i)].sent.String(); got != want {
			t.Errorf("connection %d: %q\nwant %q", i, got, want)
		}
	}
}

// Any megabyte of garbage is refused and leaves nothing behind.
func TestGarbage(t *testing.T) {
	h := serve(t)
	random := rand.NewChaCha8([32]byte{3, 4})
	heap := heapBytes()
	for round := range 20 {
		garbage := make([]byte, 1<<20)
		_, _ = random.Read(garbage)
		alphabet := []string{"", "*$:+-0123456789\r\n", "\r\n", "abc \"'\\x\r\n", "*1\r\n$4PING"}[round%5]
		if alphabet != "" {
			for i, b := range garbage {
				garbage[i] = alphabet[int(b)%len(alphabet)]
			}
		}
		conn := h.dial(t)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		if _, err := conn.Write(garbage); err != nil && !gone(err) {
			t.Fatal(err)
		}
		conn.Close()
	}
	eventually(t, "all have gone", func() bool { return h.env.Registry.Count() == 0 })
	conn := h.dial(t)
	expect(t, conn, frames("PING"), "+PONG\r\n")
	if grown := heapBytes() - heap; grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// expect sends bytes and wants exactly these back.
func expect(t testing.TB, conn io.ReadWriter, in []byte, want string) {
	t.Helper()
	if _, err := conn.Write(in); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("%q is answered by %q (%v), want %q", in, got[:n], err, want)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Keys are any bytes, up to the longest allowed.
func TestKeys(t *testing.T) {
	limit := config.Default().MaxKeyBytes
	for _, key := range []string{
		"", "\x00", "a\x00b", "a\x00c", "\r\n", "\xff", "\xff\xfe", "*", "?", " ", "ü", strings.Repeat("k", limit), strings.Repeat("\x00", limit),
	} {
		p := newSessionPlayer(t, 0)
		for _, step := range []struct {
			command []string
			want    string
		}{
			{[]string{"CL.THROTTLE", key, "4", "1", "60"}, "[0 5 4 -1 60]"},
			{[]string{"CL.THROTTLE", key, "4", "1", "60"}, "[0 5 3 -1 120]"},
			{[]string{"CL.THROTTLE", key + "x", "4", "1", "60", "0"}, "[0 5 5 -1 0]"},
			{[]string{"EXISTS", key}, "1"},
			{[]string{"TYPE", key}, "+gcra"},
			{[]string{"DEL", key}, "1"},
			{[]string{"EXISTS", key}, "0"},
			{[]string{"TB.ACQUIRE", key, "4", "1/s"}, "[1 4 3 0 1000]"},
		} {
			if len(step.command[1]) > limit {
				continue
			}
			if got, err := p.Do("", bytesOf(step.command), ""); got != step.want || err != nil {
				t.Errorf("%.40q: %s (%v), want %s", step.command, got, err, step.want)
			}
		}
		conn := p.conns[""]
		conn.deliver(frames("KEYS *"))
		if got, want := conn.reply(t), fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", len(key), key); got != want {
			t.Errorf("KEYS: %.60q, want %.60q", got, want)
		}
		conn.deliver(frame("ECHO", key))
		if got, want := conn.reply(t), fmt.Sprintf("$%d\r\n%s\r\n", len(key), key); got != want {
			t.Errorf("ECHO: %.60q, want %.60q", got, want)
		}
	}
}

// reply takes the unread bytes that the client has been sent.
func (c *pipe) reply(t testing.TB) string {
	t.Helper()
	rest, err := io.ReadAll(c.unread)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

// A key beyond the limit is an error in every command, and nothing is kept.
func TestKeyTooLong(t *testing.T) {
	p := newSessionPlayer(t, 0)
	long := strings.Repeat("k", config.Default().MaxKeyBytes+1)
	const want = "-ERR key: at most 4096 bytes (--max-key-size), got 4097"
	for _, command := range [][]string{
		{"CL.THROTTLE", long, "4", "1", "60"}, {"TB.ACQUIRE", long, "4", "1/s"}, {"RL.INFO", long}, {"RL.REFUND", long, "1"},
		{"LB.ACQUIRE", long, "4", "1/s"}, {"LB.QUEUE", long, "4", "1/s"}, {"FW.ACQUIRE", long, "4", "1s"}, {"SW.ACQUIRE", long, "4", "1s"},
		{"SL.ACQUIRE", long, "4", "1s"}, {"CC.ACQUIRE", long, "4", "1s", "me"}, {"CC.RELEASE", long, "me"}, {"CC.HOLDERS", long}, {"SL.LOG", long},
		{"RL.ALL", "TB", "a", "4", "1/s", "CL", long, "4", "1", "60"}, {"RL.ALL", "CC", long, "4", "1s", "me", "TB", "a", "4", "1/s"},
		{"RL.POLICY", "SET", "p", "TB", long, "4", "1/s"}, {"RL.POLICY", "OVERRIDE", "p", "me", "TB", long, "4", "1/s"},
		{"RL.POLICY", "OVERRIDE", "p", long, "TB", "a", "4", "1/s"}, {"RL.CHECK", "p", long},
		{"DEL", "a", long}, {"UNLINK", long}, {"EXISTS", "a", "b", long}, {"TTL", long}, {"PTTL", long}, {"TYPE", long}, {"MEMORY", "USAGE", long},
	} {
		if got, err := p.Do("", bytesOf(command), ""); got != want || err != nil {
			t.Errorf("%s: %s (%v)", command[0], got, err)
		}
	}
	if n := p.store.Len(); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

// An unfinished command beyond the query buffer is refused, is not kept, and leaves the connection open.
func TestUnfinishedBeyondQueryBuffer(t *testing.T) {
	const refused = "-ERR unfinished command: at most 4194304 bytes (--query-buffer-size): nothing was executed\r\n"
	bulk := frame(strings.Repeat("x", 60_000))[4:] // without its count
	in := append([]byte("*82\r\n$3\r\nDEL\r\n"), bytes.Repeat(bulk, 81)...)
	p := newSessionPlayer(t, 10_000)
	s := p.open("")
	s.deliver(in[:len(in)-10])
	if used := s.Usage().Input; s.closed || s.sent.Len() > 0 || used > 10_000 {
		t.Errorf("closed %v, %d bytes are kept, %.200q", s.closed, used, s.sent.String())
	}
	s.deliver(append(in[len(in)-10:], "PING\r\n"...))
	if got := s.sent.String(); s.closed || got != refused+"+PONG\r\n" {
		t.Errorf("closed %v, %.200q", s.closed, got)
	}
}

// More commands than the query buffer holds, while one waits, close the connection.
func TestQueryBufferOverflow(t *testing.T) {
	const refused = "-ERR Protocol error: commands sent while an earlier one waits: at most 4194304 bytes (--query-buffer-size)\r\n"
	h := serve(t)
	in := append(frames("TB.ACQUIRE k 1 1/s", "TB.ACQUIRE k 1 1/s BLOCK 1h"), bytes.Repeat(frames("PING"), 400_000)...)
	conn := h.dial(t)
	go func() { _, _ = conn.Write(in) }()
	if got, err := io.ReadAll(conn); !strings.HasSuffix(string(got), refused) && !gone(err) {
		t.Errorf("%.200q (%v)", got, err)
	}
	p := newSessionPlayer(t, 10_000)
	s := p.open("")
	s.deliver(in)
	if !s.closed || !strings.HasSuffix(s.sent.String(), refused) {
		t.Errorf("in a session: closed %v, %.200q", s.closed, s.sent.String())
	}
	if s.Usage().Input > 0 {
		t.Errorf("%d bytes are kept", s.Usage().Input)
	}
	eventually(t, "all have gone", func() bool { return h.env.Registry.Count() == 0 })
}

// A transaction has a bound on its commands and on their bytes.
func TestTransactionTooLong(t *testing.T) {
	for name, commands := range map[string][]byte{
		"commands": bytes.Repeat(frames("PING"), conn.MaxQueuedCommands+1),
		"bytes":    bytes.Repeat(frame("ECHO", strings.Repeat("x", 60_000)), 70),
	} {
		p := newSessionPlayer(t, 10_000)
		s := p.open("")
		s.deliver(frames("MULTI"))
		s.deliver(commands)
		if out := s.reply(t); !strings.Contains(out, "+QUEUED\r\n-ERR too many commands between MULTI and EXEC\r\n") {
			t.Errorf("%s: …%q", name, out[max(0, len(out)-200):])
		}
		if s.Usage().Queued > 0 {
			t.Errorf("%s: %d commands are kept", name, s.Usage().Queued)
		}
		s.deliver(frames("EXEC", "PING"))
		if out := s.reply(t); out != "-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n" {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// The replies of one EXEC are bounded too.
func TestExecRepliesTooBig(t *testing.T) {
	p := newSessionPlayer(t, 0)
	s := p.open("")
	s.deliver(frames("MULTI", "TB.ACQUIRE k 5 1/s"))
	for range 120 {
		s.deliver(frames("COMMAND DOCS"))
	}
	s.reply(t)
	s.deliver(frames("EXEC", "PTTL k"))
	want := "-ERR the commands were carried out, but their replies are more than --output-buffer-size\r\n:1000\r\n"
	if got := s.reply(t); got != want {
		t.Errorf("%d bytes, %.100q, want %q", len(got), got, want)
	}
}
