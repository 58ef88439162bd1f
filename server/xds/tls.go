package xds

import (
	"crypto/tls"
	"fmt"

	"github.com/stintdb/stint/internal/keypair"
)

// Files are TLS files in PEM.
type Files struct {
	Cert, Key string // of this client; "" is none
	CA        string // the CAs of the control plane's certificate; "" is the system's CAs
	Name      string // the name that the control plane's certificate must have, "" is the host of its address
}

// config reads the files. It is called for each connection, so that changed files are used.
func (f *Files) config() (*tls.Config, error) {
	if f == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.Name}
	if f.CA != "" {
		pool, err := keypair.ReadPool(f.CA)
		if err != nil {
			return nil, fmt.Errorf("--rls-xds-tls-ca: %w", err)
		}
		c.RootCAs = pool
	}
	if f.Cert != "" {
		own, err := keypair.Load("rls-xds-tls-cert", f.Cert, "rls-xds-tls-key", f.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
