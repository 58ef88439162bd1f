// Package testtls makes certificates for tests.
package testtls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates are a certificate for 127.0.0.1 and for a client, which is its own CA.
type Certificates struct {
	Pool          *x509.CertPool  // with the CA
	Client        tls.Certificate // of a client
	CA, Cert, Key string          // paths of files in PEM
}

// New makes certificates that are valid for an hour. Their files are removed at the end of the test.
func New(t testing.TB) *Certificates {
	t.Helper()
	return Valid(t, time.Time{}, time.Now().Add(time.Hour))
}

// Valid makes certificates that are valid between two times. Their files are removed at the end of the test.
func Valid(t testing.TB, from, until time.Time) *Certificates {
	t.Helper()
	dir := t.TempDir()
	c := &Certificates{Pool: x509.NewCertPool(), CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "stint test"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for name, text := range map[string][]byte{c.CA: certPEM, c.Cert: certPEM, c.Key: keyPEM} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.Pool.AppendCertsFromPEM(certPEM)
	if c.Client, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return c
}
