package closenotify

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/internal/testtls"
)

// pair is a server's and a client's end of a connection, after the handshake.
func pair(t *testing.T) (server, client *tls.Conn) {
	c := testtls.New(t)
	certificate, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	server = tls.Server(a, &tls.Config{Certificates: []tls.Certificate{certificate}, Time: time.Now})
	client = tls.Client(b, &tls.Config{InsecureSkipVerify: true})
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	if err := errors.Join(server.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	return server, client
}

func TestPeerThatDoesNotRead(t *testing.T) {
	for name, close := range map[string]struct {
		with func(*tls.Conn)
		wait time.Duration
	}{
		"crypto/tls alone": {func(c *tls.Conn) { _ = c.Close() }, 5 * time.Second}, // if it ends, so may this package
		"within a second":  {func(c *tls.Conn) { Within(time.Second, c) }, time.Second},
		"without an alert": {func(c *tls.Conn) { _ = Without(c).Close() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := pair(t)
				defer client.NetConn().Close()
				_ = server.SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := server.Write(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatal(err)
				}
				began := time.Now()
				if close.with(server); time.Since(began) != close.wait {
					t.Errorf("it took %v, want %v", time.Since(began), close.wait)
				}
			})
		})
	}
}

// A peer that reads gets the alert by Within, and by Without nothing but the end.
func TestAlert(t *testing.T) {
	for name, close := range map[string]struct {
		with  func(*tls.Conn)
		alert bool
	}{
		"within":  {func(c *tls.Conn) { Within(time.Second, c) }, true},
		"without": {func(c *tls.Conn) { _ = Without(c).Close() }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, client := pair(t)
			defer client.NetConn().Close()
			go close.with(server)
			if got, err := io.ReadAll(client.NetConn()); (len(got) > 0) != close.alert {
				t.Errorf("%s: %x %v", name, got, err)
			}
		})
	}
}
