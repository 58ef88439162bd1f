package keypair

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// Authorities are the CA certificates of a file in PEM, read again when it changes: an authority is replaced by a file
// with both, and later by one with the new one alone, without a restart.
type Authorities struct {
	setting, file string
	log           *slog.Logger

	mu      sync.Mutex
	pool    *x509.CertPool
	read    os.FileInfo // the file that the pool is from
	failure string      // of the last attempt to read the file again
}

// LoadAuthorities reads the file that a setting names. The error names both.
func LoadAuthorities(setting, file string, log *slog.Logger) (*Authorities, error) {
	a := &Authorities{setting: setting, file: file, log: log}
	return a, a.reload()
}

// Pool returns the certificates for a new connection. It reads the file if it has changed since; while that fails,
// which is logged once, the certificates read before stay in use.
func (a *Authorities) Pool() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	failure := ""
	if err := a.reload(); err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != a.failure {
		a.log.Error("could not read CA certificates again; the old ones stay in use", "error", failure)
	}
	a.failure = failure
	return a.pool
}

// reload reads the file, unless it is the one that was read.
func (a *Authorities) reload() error {
	now, err := os.Stat(a.file) // of the target of symbolic links, by which Kubernetes replaces the files of a secret
	if err != nil {
		return fmt.Errorf("--%s: %w", a.setting, err)
	}
	if a.read != nil && os.SameFile(a.read, now) && a.read.ModTime().Equal(now.ModTime()) && a.read.Size() == now.Size() {
		return nil
	}
	pool, err := ReadPool(a.file)
	if err != nil {
		return fmt.Errorf("--%s: %w", a.setting, err)
	}
	a.pool, a.read = pool, now
	return nil
}

// ReadPool reads the CA certificates of a file in PEM, of which there must be one at least. The error names the file.
func ReadPool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no certificate in PEM", file)
	}
	return pool, nil
}
