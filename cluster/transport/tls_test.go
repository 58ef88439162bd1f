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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
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
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
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
	c, err := LoadTLS(a.path(name+".pem"), a.path(name+".key"), authorities)
	return TCP{TLS: c}, err
}

var bothUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}

func TestCertificatesTheOthersWouldNotTake(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.sign("good", time.Now().Add(time.Hour), bothUsages...)
	a.sign("expired", time.Now().Add(-time.Minute), bothUsages...)
	a.sign("server-only", time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	for _, c := range []struct{ name, authority, want string }{
		{"expired", a.path("ca.pem"), "expired on"},
		{"server-only", a.path("ca.pem"), "for servers and for clients"},
		{"good", other.path("ca.pem"), "has to be signed by --cluster-tls-ca"},
		{"good", a.path("good.key"), "holds no certificate"},
		{"missing", a.path("ca.pem"), "no such file"},
	} {
		if _, err := a.network(c.name, c.authority); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTLSBetweenNodes(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.sign("node", time.Now().Add(time.Hour), bothUsages...)
	other.sign("stranger", time.Now().Add(time.Hour), bothUsages...)
	node, err := a.network("node", a.path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := node.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
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
	talk := func(n Network) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conn, err := n.Dial(ctx, l.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))         // for one who is never answered
		if _, err := conn.Write([]byte("x\n\n\n\n\n\n")); err != nil { // more than a TLS record's head
			return err
		}
		_, err = io.ReadFull(conn, make([]byte, 1))
		return err
	}
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
	stranger.TLS.RootCAs = node.TLS.RootCAs // it trusts the node, but the node has no reason to trust it
	if talk(stranger) == nil {
		t.Error("a client with a foreign certificate is accepted")
	}
	if talk(TCP{}) == nil {
		t.Error("a connection without TLS is accepted")
	}
}
