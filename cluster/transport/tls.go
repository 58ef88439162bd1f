package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stintdb/stint/internal/keypair"
)

// LoadTLS makes the configuration for TLS between nodes from PEM files: this node's certificate and key, with which it
// also identifies itself when it connects to others, and the authority that every node's certificate has to be signed by.
// The certificate and the key are read again when the files have changed.
func LoadTLS(certFile, keyFile, authorityFile string) (*tls.Config, error) {
	text, err := os.ReadFile(authorityFile)
	if err != nil {
		return nil, fmt.Errorf("--cluster-tls-ca: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--cluster-tls-ca: %s holds no certificate in PEM", authorityFile)
	}
	load := func() (*tls.Certificate, error) { return loadCertificate(certFile, keyFile, authorities) }
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS13,
		RootCAs:              authorities,
		ClientCAs:            authorities,
		ClientAuth:           tls.RequireAndVerifyClientCert,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() },
	}, nil
}

// loadCertificate reads a certificate and checks that the other nodes would accept it.
func loadCertificate(certFile, keyFile string, authorities *x509.CertPool) (*tls.Certificate, error) {
	pair, err := keypair.Load("cluster-tls-cert", certFile, "cluster-tls-key", keyFile)
	if err != nil {
		return nil, err
	}
	leaf, now := pair.Leaf, time.Now()
	switch {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("--cluster-tls-cert: %s expired on %s; the other nodes will not accept it", certFile, leaf.NotAfter.UTC().Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("--cluster-tls-cert: %s is not valid before %s", certFile, leaf.NotBefore.UTC().Format(time.DateTime))
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: intermediates(pair), KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--cluster-tls-cert: %s would not be accepted by the other nodes; it has to be signed by --cluster-tls-ca, for servers and for clients", certFile), err)
		}
	}
	return &pair, nil
}

func intermediates(pair tls.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			pool.AddCert(c)
		}
	}
	return pool
}
