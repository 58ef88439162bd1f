package transport

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// Nodes with the same secret accept each other, under any name. Nobody else gets a byte through: not with another
// secret, certificates of an authority, an unsigned certificate, no certificate, or no TLS.
func TestNodesWithASecret(t *testing.T) {
	secretNetwork := func(text string) TCP {
		secrets, err := SecretTLS([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return TCP{TLS: secrets}
	}
	node := secretNetwork("the secret of the cluster's nodes")
	a := newAuthority(t)
	a.sign("node", time.Now().Add(time.Hour), bothUsages...)
	certified, err := a.network("node", a.path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	noCertificate := node.TLS.Clone()
	noCertificate.Certificates = nil
	foreign := node.TLS.Clone()
	foreign.Certificates = secretNetwork("the secret of other nodes").TLS.Certificates
	blind := &tls.Config{InsecureSkipVerify: true}
	for name, tc := range map[string]struct {
		listener, dialer TCP
		meet             bool
	}{
		"the same":                 {node, secretNetwork("the secret of the cluster's nodes"), true},
		"another secret":           {node, secretNetwork("the secret of other nodes"), false},
		"certificates":             {node, certified, false},
		"certificates at the node": {certified, node, false},
		"no certificate":           {node, TCP{TLS: noCertificate}, false},
		"another's certificate":    {node, TCP{TLS: foreign}, false},
		"anybody":                  {node, TCP{TLS: blind}, false},
		"no TLS":                   {node, TCP{}, false},
		"no TLS at the node":       {TCP{}, node, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reaches(t, tc.listener, tc.dialer); got != tc.meet {
				t.Errorf("a byte gets through: %t", got)
			}
		})
	}
}

// reaches reports whether a byte of the dialer gets to the listener, and its answer back.
func reaches(t *testing.T, listener, dialer TCP) bool {
	t.Helper()
	l, err := listener.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan bool, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			heard <- false
			return
		}
		defer conn.Close()
		heard <- passByte(conn, false)
	}()
	conn, err := dialer.Dial(context.Background(), l.Addr().String())
	if err != nil {
		return false
	}
	answered := passByte(conn, true)
	conn.Close()
	return <-heard && answered
}

// passByte sends a byte and receives one, or the other way round.
func passByte(conn net.Conn, first bool) bool {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	b := []byte{42}
	if first {
		if _, err := conn.Write(b); err != nil {
			return false
		}
	}
	if n, err := conn.Read(b); err != nil || n != 1 || b[0] != 42 {
		return false
	}
	if !first {
		_, err := conn.Write(b)
		return err == nil
	}
	return true
}

// Neither end sends a closing alert: sending it would wait while the other end hangs.
func TestNodesSendNoAlert(t *testing.T) {
	secrets, err := SecretTLS([]byte("the secret of the cluster's nodes"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := TCP{TLS: secrets}.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for end := range 2 {
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil && passByte(conn, false) {
				accepted <- conn
			}
			close(accepted)
		}()
		conn, err := TCP{TLS: secrets}.Dial(t.Context(), l.Addr().String())
		if err != nil || !passByte(conn, true) {
			t.Fatal(err)
		}
		ends := [2]net.Conn{conn, <-accepted}
		_ = ends[end].Close()
		other := ends[1-end].(interface{ NetConn() net.Conn }).NetConn()
		if got, err := io.ReadAll(other); len(got) > 0 || err != nil {
			t.Errorf("end %d sends %x as it closes; %v", end, got, err)
		}
		_ = other.Close()
	}
}
