package server

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/stats"
)

// certificates are those of a server that listens by TLS.
type certificates struct{ *testtls.Certificates }

func newCertificates(t testing.TB) *certificates { return &certificates{testtls.New(t)} }

// use has a server listen by TLS.
func (c *certificates) use(cfg *config.Config) {
	cfg.TLSListen, cfg.TLSCert, cfg.TLSKey = []string{"127.0.0.1:0"}, c.Cert, c.Key
}

func (c *certificates) dial(t testing.TB, h *testHost, client *tls.Config) *tls.Conn {
	if client == nil {
		client = &tls.Config{}
	}
	client.RootCAs = c.Pool
	conn, err := tls.Dial("tcp", h.tls, client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	return conn
}

func TestTLSVersions(t *testing.T) {
	c := newCertificates(t)
	h := serve(t, c.use)
	for version, works := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", h.tls, &tls.Config{RootCAs: c.Pool, MinVersion: version, MaxVersion: version})
		if (err == nil) != works {
			t.Errorf("TLS version %x: %v", version, err)
		}
		if err == nil {
			expect(t, conn, frames("PING"), "+PONG\r\n")
			conn.Close()
		}
	}
	plain, err := net.Dial("tcp", h.tls)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = plain.Write(frames("PING"))
	if answer, _ := io.ReadAll(plain); bytes.Contains(answer, []byte("PONG")) {
		t.Errorf("a connection without TLS is answered %q", answer)
	}
	eventually(t, "failed handshakes are counted", func() bool { return h.env.Stats.RejectionCount(stats.HandshakeFailed) == 3 })
}

// With a CA for clients, only those with a certificate of it get in.
func TestTLSClientCertificates(t *testing.T) {
	c, other := newCertificates(t), newCertificates(t)
	h := serve(t, c.use, func(cfg *config.Config) { cfg.TLSClientCA = c.CA })
	expect(t, c.dial(t, h, &tls.Config{Certificates: []tls.Certificate{c.Client}}), frames("PING"), "+PONG\r\n")
	for name, with := range map[string][]tls.Certificate{"none": nil, "another CA's": {other.Client}} {
		conn := c.dial(t, h, &tls.Config{Certificates: with})
		_, _ = conn.Write(frames("PING"))
		if answer, err := io.ReadAll(conn); len(answer) > 0 || err == nil {
			t.Errorf("certificate: %s: %q, %v", name, answer, err)
		}
	}
}

// A new certificate is for new connections; a wrong one changes nothing.
func TestTLSReload(t *testing.T) {
	c, next := newCertificates(t), newCertificates(t)
	h := serve(t, c.use)
	before := c.dial(t, h, nil)
	copyFile(t, next.Cert, c.Cert)
	if err := h.ReloadTLS(); err == nil || !strings.Contains(err.Error(), "--tls-cert "+c.Cert+" and --tls-key "+c.Key+" cannot be used: ") {
		t.Errorf("a certificate without its key is taken: %v", err)
	}
	expect(t, c.dial(t, h, nil), frames("PING"), "+PONG\r\n")
	copyFile(t, next.Key, c.Key)
	if err := h.ReloadTLS(); err != nil {
		t.Fatal(err)
	}
	expect(t, next.dial(t, h, nil), frames("PING"), "+PONG\r\n")
	expect(t, before, frames("PING"), "+PONG\r\n")
}

// A certificate that is not valid now is used, for clients that do not check it, and logged: at the start and whenever
// it is read again.
func TestOutdatedCertificatesAreLogged(t *testing.T) {
	now := time.Now()
	for says, c := range map[string]*testtls.Certificates{
		"put a renewed certificate":     testtls.Valid(t, now.Add(-2*time.Hour), now.Add(-time.Hour)),
		"set the clock of this machine": testtls.Valid(t, now.Add(time.Hour), now.Add(2*time.Hour)),
	} {
		var log testlog.Log
		valid := newCertificates(t)
		h := newHost(t, nil, (&certificates{c}).use)
		h.env.Log = log.Logger()
		h.env.Registry.Log = h.env.Log
		stop := h.start(t)
		unchecked := (&certificates{c}).dial(t, h, &tls.Config{InsecureSkipVerify: true})
		expect(t, unchecked, frames("PING"), "+PONG\r\n")
		for read := 1; read <= 2; read++ {
			if log.Count(says) != read || log.Count("--tls-cert: "+c.Cert) != read {
				t.Errorf("read %d times:\n%s", read, &log)
			}
			if err := h.ReloadTLS(); err != nil {
				t.Fatal(err)
			}
		}
		copyFile(t, valid.Cert, c.Cert)
		copyFile(t, valid.Key, c.Key)
		if err := h.ReloadTLS(); err != nil {
			t.Fatal(err)
		}
		if log.Count("--tls-cert") != 3 {
			t.Errorf("a valid certificate is logged too:\n%s", &log)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A client that shakes hands and then says nothing, or does not even shake hands, is closed in time.
func TestTLSSilence(t *testing.T) {
	c := newCertificates(t)
	h := serve(t, c.use, withPassword)
	silent := c.dial(t, h, nil)
	raw, err := net.Dial("tcp", h.tls)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	eventually(t, "both are there", func() bool { return h.env.Registry.Count() == 2 })
	h.clock.Advance(h.Config().AuthTimeout + time.Second)
	for name, conn := range map[string]net.Conn{"after the handshake": silent, "before it": raw} {
		_ = conn.SetReadDeadline(time.Now().Add(giveUp))
		if _, err := io.ReadAll(conn); err != nil && !gone(err) {
			t.Errorf("silent %s: %v", name, err)
		}
	}
	eventually(t, "both have gone", func() bool { return h.env.Registry.Count() == 0 })
}

// A client that does not read is not read from, and is closed when that has lasted long enough.
func TestTLSClientThatDoesNotRead(t *testing.T) {
	c := newCertificates(t)
	h := serve(t, c.use, func(cfg *config.Config) { cfg.OutputTimeout = 100 * time.Millisecond })
	wantNoReadAhead(t, h, c.dial(t, h, nil), c.dial(t, h, nil))
}

// wantNoReadAhead fails if the server reads more from a client that does not read than it can answer. It wants such a
// client to be closed after the output timeout, and another to be served meanwhile.
func wantNoReadAhead(t *testing.T, h *testHost, deaf, other net.Conn) {
	t.Helper()
	heap := heapBytes()
	in := bytes.Repeat(frame("ECHO", strings.Repeat("x", 10_000)), 10)
	for written := 0; ; written += len(in) {
		if _, err := deaf.Write(in); err != nil {
			break
		}
		expect(t, other, frames("PING"), "+PONG\r\n")
		if written > 100<<20 {
			t.Fatal("100 MB of commands were taken without one reply being read")
		}
	}
	if grown := heapBytes() - heap; grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	eventually(t, "it is counted", func() bool { return h.env.Stats.SlowReaders.Load() == 1 })
	expect(t, other, frames("PING"), "+PONG\r\n")
}

// Replies that wait for clients by TLS to read count as their buffers, and those with more than their share are closed.
func TestTLSClientsThatDoNotReadAreCounted(t *testing.T) {
	c := newCertificates(t)
	h := serve(t, c.use, func(cfg *config.Config) {
		cfg.OutputTimeout, cfg.ClientBytes, cfg.QueryBufferBytes, cfg.OutputBufferBytes, cfg.MaxBulkBytes = time.Hour, mb, 512<<10, 512<<10, 64<<10
	})
	in := bytes.Repeat(frame("ECHO", strings.Repeat("x", 60_000)), 200)
	for range 8 {
		deaf := c.dial(t, h, nil)
		go func() { _, _ = deaf.Write(in) }() // ends when one of the two closes
	}
	eventually(t, "some are closed", func() bool { return h.env.Stats.RejectionCount(stats.ClientMemory) > 0 })
	expect(t, c.dial(t, h, nil), frames("PING"), "+PONG\r\n")
	eventually(t, "the others take no more than they may", func() bool { return h.memory.Buffers.Bytes.Load() <= mb })
}

// Handshakes that do not end count as buffers, and the longest of them are closed: others still get in.
func TestTLSHandshakesAreCounted(t *testing.T) {
	c := newCertificates(t)
	h := serve(t, c.use, func(cfg *config.Config) {
		cfg.ClientBytes, cfg.QueryBufferBytes, cfg.OutputBufferBytes, cfg.MaxBulkBytes = mb, 512<<10, 512<<10, 64<<10
	})
	record := append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, make([]byte, 0x4000-4)...) // the first of a hello of 64 KB
	for range 50 {
		conn, err := net.Dial("tcp", h.tls)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write(append(record, 22, 3, 1, 0x40, 0)) // and its next
	}
	eventually(t, "some are closed", func() bool { return h.env.Stats.RejectionCount(stats.ClientMemory) > 0 })
	expect(t, c.dial(t, h, nil), frames("PING"), "+PONG\r\n")
	if n := h.memory.Buffers.Bytes.Load(); n < mb/4 {
		t.Errorf("%d bytes are counted", n)
	}
}

// All commands read are answered before the server ends.
func TestTLSDrain(t *testing.T) {
	c := newCertificates(t)
	h, stop := serveUntil(t, c.use)
	conn := c.dial(t, h, nil)
	expect(t, conn, frames("TB.ACQUIRE k 1 1/s"), "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
	if err := stop(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(conn); len(rest) > 0 || err != nil && !gone(err) {
		t.Errorf("%q, %v", rest, err)
	}
	if _, err := net.Dial("tcp", h.tls); err == nil {
		t.Error("connections are still accepted")
	}
}
