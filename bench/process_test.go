package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// redis-benchmark spins for ever when nobody listens.
func TestDriveRefusesAnAddressWithoutServer(t *testing.T) {
	port, err := reservePort()
	wantError(t, err, "")
	_, err = drive(t.Context(), &Instance{Addr: "127.0.0.1:" + port}, connections, 1, 1, []string{"PING"})
	wantError(t, err, "refused")
}

func TestStartProcess(t *testing.T) {
	t.Chdir(t.TempDir())
	wantError(t, mkOutDir(), "")

	p, err := startProcess(t.Context(), "short", nil, "sh", "-c", "echo ready; exec sleep 100")
	wantError(t, err, "")
	inst := &Instance{processes: []*process{p}}
	wantError(t, inst.Died(), "")
	died := make(chan struct{})
	inst.onDeath(t.Context(), func() { close(died) })
	inst.Stop()
	select {
	case <-died:
	case <-time.After(stopTimeout):
		t.Error("the end of the process was not noticed")
	}
	wantError(t, inst.Died(), "short died")

	_, err = startProcess(t.Context(), "taken", nil, "sh", "-c", "echo address already in use; exit 3")
	wantError(t, err, "already in use") // and "already" is not "ready"
	_, err = startProcess(t.Context(), "nobody", nil, "no-such-program")
	wantError(t, err, "start nobody")
}

func TestProcessLogSplitsLines(t *testing.T) {
	var file strings.Builder
	l := newProcessLog(&file)
	for _, part := range []string{"first\nsec", "ond\ngc 1 @0.1s 0%: 0.5+1+0.25 ms clock, x ms cpu, 4->4->1 MB, 5 MB goal\nRea", "dy to accept"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-l.ready:
		t.Error("ready before the line was complete")
	default:
	}
	if _, err := l.Write([]byte(" connections\n")); err != nil {
		t.Fatal(err)
	}
	<-l.ready
	if got := l.lastLines(); got != "first\nsecond\nReady to accept connections" {
		t.Errorf("lines %q", got)
	}
	if got := l.listening(); len(got) != 0 {
		t.Errorf("Redis tells no addresses, and not %q", got)
	}
	if c := l.gcCycles(); len(c) != 1 || c[0].longest() != time.Millisecond/2 {
		t.Errorf("cycles %+v", c)
	}
	if !strings.HasSuffix(file.String(), "accept connections\n") {
		t.Errorf("the file holds %q", file.String())
	}
}

func TestListening(t *testing.T) {
	l := newProcessLog(io.Discard)
	_, err := l.Write([]byte("Stint 1: a server\nready: accepting connections on 127.0.0.1:1, 127.0.0.1:2 (HTTP), 127.0.0.1:3 (gRPC)\n"))
	wantError(t, err, "")
	want := map[string]string{"": "127.0.0.1:1", "HTTP": "127.0.0.1:2", "gRPC": "127.0.0.1:3"}
	if got := l.listening(); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Loads at the same time last as long as the slowest.
func TestTogether(t *testing.T) {
	s := together([]Sample{{Requests: 100, PerSecond: 100, P50ms: 1, P99ms: 3}, {Requests: 100, PerSecond: 50, P50ms: 2, P99ms: 2}})
	if s.Requests != 200 || s.PerSecond != 100 || s.P50ms != 2 || s.P99ms != 3 {
		t.Errorf("%+v", s)
	}
}

func TestEntrances(t *testing.T) {
	if got := (&Instance{Addr: "a", Nodes: []string{"a", "b", "c"}}).entrances(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Error(got)
	}
	if got := (&Instance{Addr: "a"}).entrances(); !slices.Equal(got, []string{"a", "a", "a"}) {
		t.Error(got)
	}
}
