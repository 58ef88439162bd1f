package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testlog"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// sign makes name.pem and name.key for 127.0.0.1.
func (a *authority) sign(name string, until time.Time, usages ...x509.ExtKeyUsage) {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		ExtKeyUsage: usages, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	der, _ = x509.MarshalECPrivateKey(key)
	a.write(name+".key", "EC PRIVATE KEY", der)
}

func (a *authority) network(name, authorities string) (TCP, error) {
	return LoadTLS(a.path(name+".pem"), a.path(name+".key"), authorities, slog.New(slog.DiscardHandler))
}

var bothUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}

func TestCertificatesTheOthersWouldNotTake(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.sign("good", time.Now().Add(time.Hour), bothUsages...)
	a.sign("expired", time.Now().Add(-time.Minute), bothUsages...)
	a.sign("server-only", time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	for _, c := range []struct{ name, authority, want string }{
		{"expired", a.path("ca.pem"), "expired on"},
		{"server-only", a.path("ca.pem"), "for both servers and clients"},
		{"good", other.path("ca.pem"), "must be signed by --cluster-tls-ca"},
		{"good", a.path("good.key"), "contains no certificate"},
		{"missing", a.path("ca.pem"), "no such file"},
	} {
		if _, err := a.network(c.name, c.authority); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// echo starts a listener that sends every byte back to the sender, and returns its address.
func echo(t *testing.T, n Network) string {
	t.Helper()
	l, err := n.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// talkTo connects to an echo as a node, and returns why it does not answer.
func talkTo(t *testing.T, address string, n Network) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := n.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))         // so that a node that is never answered fails
	if _, err := conn.Write([]byte("x\n\n\n\n\n\n")); err != nil { // more than a TLS record's head
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

func TestTLSBetweenNodes(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.sign("node", time.Now().Add(time.Hour), bothUsages...)
	other.sign("stranger", time.Now().Add(time.Hour), bothUsages...)
	node, err := a.network("node", a.path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	address := echo(t, node)
	talk := func(n Network) error { return talkTo(t, address, n) }
	if err := talk(node); err != nil {
		t.Errorf("a node of the same authority: %v", err)
	}
	stranger, err := other.network("stranger", other.path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if talk(stranger) == nil {
		t.Error("a certificate of another authority is accepted")
	}
	stranger.Authorities = node.Authorities // it trusts the node, but the node has no reason to trust it
	if talk(stranger) == nil {
		t.Error("a client with a foreign certificate is accepted")
	}
	if talk(TCP{}) == nil {
		t.Error("a connection without TLS is accepted")
	}
}

// An authority is replaced while the nodes run: first both are trusted, then certificates of the new one are used, then
// only the new one is trusted.
func TestAuthoritiesAreRotated(t *testing.T) {
	first, next := newAuthority(t), newAuthority(t)
	first.sign("node", time.Now().Add(time.Hour), bothUsages...)
	next.sign("node", time.Now().Add(time.Hour), bothUsages...)
	dir := t.TempDir()
	install := func(name string, from ...string) {
		t.Helper()
		var all []byte
		for _, path := range from {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
		if err := os.WriteFile(filepath.Join(dir, "new"), all, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	use := func(a *authority) {
		install("node.pem", a.path("node.pem"))
		install("node.key", a.path("node.key"))
	}
	for _, a := range []*authority{first, next} {
		install("both.pem", first.path("ca.pem"), next.path("ca.pem"))
		if err := os.Rename(filepath.Join(dir, "both.pem"), a.path("both.pem")); err != nil {
			t.Fatal(err)
		}
	}
	install("ca.pem", first.path("ca.pem"))
	use(first)
	node, err := LoadTLS(filepath.Join(dir, "node.pem"), filepath.Join(dir, "node.key"), filepath.Join(dir, "ca.pem"),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	address := echo(t, node)
	for _, step := range []struct {
		name        string
		do          func()
		first, next bool // which of the other nodes are let in, and let this one in
	}{
		{"at first", func() {}, true, false},
		{"both are trusted", func() { install("ca.pem", first.path("ca.pem"), next.path("ca.pem")) }, true, true},
		{"the next certificate is used", func() { use(next) }, true, true},
		{"the next is trusted alone", func() { install("ca.pem", next.path("ca.pem")) }, false, true},
	} {
		step.do()
		if err := talkTo(t, address, node); err != nil {
			t.Errorf("%s: to itself: %v", step.name, err)
		}
		for of, isTrusted := range map[*authority]bool{first: step.first, next: step.next} {
			other, err := of.network("node", of.path("both.pem")) // it trusts both, so that what counts is whom this node trusts
			if err != nil {
				t.Fatal(err)
			}
			if err := talkTo(t, address, other); (err == nil) != isTrusted {
				t.Errorf("%s: a node of the first authority (%v) connects: %v", step.name, of == first, err)
			}
			if err := talkTo(t, echo(t, other), node); (err == nil) != isTrusted {
				t.Errorf("%s: it connects to a node of the first authority (%v): %v", step.name, of == first, err)
			}
		}
	}
}

// A certificate that is replaced by one that has expired is logged once, with the remedy.
func TestAnOutdatedCertificateIsLogged(t *testing.T) {
	a := newAuthority(t)
	a.sign("node", time.Now().Add(time.Hour), bothUsages...)
	a.sign("expired", time.Now().Add(-time.Minute), bothUsages...)
	log := &testlog.Log{}
	node, err := LoadTLS(a.path("node.pem"), a.path("node.key"), a.path("ca.pem"), log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	address := echo(t, node)
	for _, suffix := range []string{".pem", ".key"} {
		if err := os.Rename(a.path("expired"+suffix), a.path("node"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if talkTo(t, address, node) == nil {
			t.Error("a certificate that has expired is used")
		}
	}
	if !log.Has("put a renewed certificate") || log.Count("expired on") != 1 {
		t.Errorf("the log does not say so once:\n%s", log)
	}
	a.sign("node", time.Now().Add(time.Hour), bothUsages...)
	if err := talkTo(t, address, node); err != nil {
		t.Error(err)
	}
}
