package transport

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// Strangers on the port between nodes change nothing and are sent away.
func TestStrangers(t *testing.T) {
	p := New(Config{Network: TCP{}, Address: "x", Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Hello: func(raft.ServerID) Hello { return Hello{From: "a#1", Cluster: "ours"} }, Serve: map[Purpose]func(net.Conn,
			Hello){ForRPC: func(net.Conn, Hello) {}}})
	if err := p.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.Start()
	defer p.Halt()
	frame := func(g string) string { return string(SealFrame(append(make([]byte, 4), g...))) }
	for name, sent := range map[string]string{
		"HTTP":              "GET / HTTP/1.1\r\n\r\n",
		"Redis":             "*1\r\n$4\r\nPING\r\n",
		"another purpose":   peerMagic + "X",
		"a huge frame":      peerMagic + "R\xff\xff\xff\x7f",
		"no JSON":           peerMagic + "R" + frame("hello"),
		"another cluster":   peerMagic + "R" + frame(`{"from":"b#1","cluster":"theirs"}`),
		"for somebody else": peerMagic + "R" + frame(`{"from":"b#1","to":"c#1"}`),
	} {
		conn, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(sent))
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // so that a failure ends; it is closed much sooner
		answer, err := io.ReadAll(conn)
		if err != nil && errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(answer), `"from"`) != strings.Contains(sent, `"from"`) {
			t.Errorf("%s: answered %q", name, answer)
		}
		if strings.Contains(sent, `"from"`) && !strings.Contains(string(answer), "refused") {
			t.Errorf("%s: not refused: %q", name, answer)
		}
		_ = conn.Close()
	}
}
