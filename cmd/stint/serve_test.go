package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// serveTimeout bounds the wait for a server's start and for its end.
const serveTimeout = time.Minute

// serve runs the program as a server, in this process, and returns its address once it accepts connections. It gets no
// settings but the arguments. The end of the test stops it, and fails the test unless it then exits with success.
func serve(t *testing.T, args ...string) (address string) {
	t.Helper()
	address, _ = serveWithBanner(t, args...)
	return address
}

// serveAdmin is serve with an address for operators, which it returns too.
func serveAdmin(t *testing.T, args ...string) (address, admin string) {
	t.Helper()
	address, banner := serveWithBanner(t, append([]string{"--admin=127.0.0.1:0"}, args...)...)
	look := regexp.MustCompile(`(?m)^Look: https?://(\S+) `).FindStringSubmatch(banner)
	if look == nil {
		t.Fatalf("the banner has no page: %s", banner)
	}
	return address, look[1]
}

// serveWithBanner is serve, and returns the lines that the server printed before.
func serveWithBanner(t *testing.T, args ...string) (address, banner string) {
	t.Helper()
	return serveBy(t, &process{readFile: fstest.MapFS{}.ReadFile}, args...)
}

// serveBy is serveWithBanner by a process with files and signals of its own.
func serveBy(t *testing.T, p *process, args ...string) (address, banner string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	code := make(chan int, 1)
	var stderr strings.Builder
	go func() {
		p.stdout, p.stderr = in, &stderr
		code <- p.run(ctx, append([]string{"server", "--listen", "127.0.0.1:0", "--admin="}, args...))
		in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case c := <-code:
			if c != exitOK {
				t.Errorf("the server exited with %d: %s", c, &stderr)
			}
		case <-time.After(serveTimeout):
			t.Errorf("the server did not stop within %v", serveTimeout)
		}
	})
	late := time.AfterFunc(serveTimeout, func() { in.CloseWithError(fmt.Errorf("not ready within %v", serveTimeout)) })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, ready := strings.Cut(lines.Text(), "ready: accepting connections on "); ready {
			go io.Copy(io.Discard, out)
			return strings.Split(address, ", ")[0], banner
		}
		banner += lines.Text() + "\n"
	}
	t.Fatalf("the server did not start (%v); it printed:\n%s", lines.Err(), banner)
	return "", ""
}

// The first lines promise no page, and no command, that a server with a password refuses.
func TestBanner(t *testing.T) {
	for want, args := range map[string][]string{
		"has the dashboard, /metrics and /readyz\n":    {"--admin=127.0.0.1:0"},
		"/readyz; its dashboard needs --admin-token\n": {"--admin=127.0.0.1:0", "--requirepass=secret"},
		"Try: REDISCLI_AUTH=PASSWORD redis-cli -h ":    {"--requirepass=secret"},
		"Look: http://127.0.0.1:":                      {"--admin=127.0.0.1:0", "--requirepass=secret", "--admin-token=a-token-of-this-test"},
		"start with STINT_REQUIREPASS=PASSWORD in":     {"--http-listen=0.0.0.0:0"},
	} {
		_, banner := serveWithBanner(t, args...)
		if !strings.Contains(banner, want) {
			t.Errorf("%v: no %q in\n%s", args, want, banner)
		}
	}
}

// The whole program, with its state on disk: a second run continues where the first one stopped. The tests with the
// tag e2e run it in separate processes.
func TestServer(t *testing.T) {
	dir := t.TempDir()
	for i, mode := range []string{"always", "interval", "snapshot"} {
		t.Run(mode, func(t *testing.T) {
			address := serve(t, "--dir", dir, "--durability", mode)
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "TB.ACQUIRE k 5 1/d\r\nQUIT\r\n"); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if want := fmt.Sprintf("*5\r\n:1\r\n:5\r\n:%d\r\n", 4-i); err != nil || !strings.HasPrefix(string(got), want) {
				t.Errorf("got %q, %v, want %q…", got, err, want)
			}
		})
	}
}
