package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/keypair"
)

// LoadTLS makes the network with TLS between nodes from PEM files: this node's certificate and key, with which it also
// identifies itself when it connects to others, and the authorities by which every node's certificate has to be signed.
// Changed files are read again when the next connection is made.
func LoadTLS(certFile, keyFile, authorityFile string, log *slog.Logger) (TCP, error) {
	authorities, err := keypair.LoadAuthorities("cluster-tls-ca", authorityFile, log)
	if err != nil {
		return TCP{}, err
	}
	if _, err := loadCertificate(certFile, keyFile, authorities.Pool()); err != nil {
		return TCP{}, err
	}
	failures := failureLog{log: log}
	load := func() (*tls.Certificate, error) {
		pair, err := loadCertificate(certFile, keyFile, authorities.Pool())
		failures.note(err)
		return pair, err
	}
	return TCP{
		TLS: &tls.Config{
			MinVersion:           tls.VersionTLS13,
			ClientAuth:           tls.RequireAndVerifyClientCert,
			GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() },
		},
		Authorities: authorities.Pool,
	}, nil
}

// failureLog logs why this node has no certificate for a connection, once for each reason: the other side only hears of
// an internal error.
type failureLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	last string
}

func (f *failureLog) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := ""
	if err != nil {
		now = err.Error()
	}
	if now != "" && now != f.last {
		f.log.Warn("this node cannot connect to the others by TLS", "error", now)
	}
	f.last = now
}

// loadCertificate reads a certificate and checks that the other nodes would accept it.
func loadCertificate(certFile, keyFile string, authorities *x509.CertPool) (*tls.Certificate, error) {
	pair, err := keypair.Load("cluster-tls-cert", certFile, "cluster-tls-key", keyFile)
	if err != nil {
		return nil, err
	}
	leaf := pair.Leaf
	if err := keypair.OutOfDate("cluster-tls-cert", certFile, leaf, time.Now()); err != nil {
		return nil, fmt.Errorf("the other nodes will not accept this one: %w", err)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: intermediates(pair),
			KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return nil,
				errors.Join(fmt.Errorf("--cluster-tls-cert: the other nodes would reject %s; it must be signed by --cluster-tls-ca for both servers and clients", certFile), err)
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
