// Package keypair loads certificates and their private keys, and certificates of authorities, with errors that name the
// file and the mistake.
package keypair

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"
)

// Load reads a certificate and its key from the files that two settings name. The error names both settings, both files
// and the remedy.
func Load(certSetting, cert, keySetting, key string) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err == nil {
		return pair, nil
	}
	remedy := ""
	if strings.Contains(err.Error(), "any PEM data") {
		remedy = "; a file in PEM has lines such as -----BEGIN CERTIFICATE----- and -----BEGIN PRIVATE KEY-----"
	}
	return pair, fmt.Errorf("--%s %s and --%s %s cannot be used: %w%s", certSetting, cert, keySetting, key, err, remedy)
}

// OutOfDate is the error for a certificate that is not valid at a time, with its dates and the remedy. It is nil for
// one that is valid.
func OutOfDate(setting, file string, c *x509.Certificate, now time.Time) error {
	from, until := c.NotBefore.UTC().Format(time.DateTime), c.NotAfter.UTC().Format(time.DateTime)
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("--%s: %s expired on %s UTC, and was valid from %s on: put a renewed certificate and its key into the files, which are read again", setting, file, until, from)
	case now.Before(c.NotBefore):
		return fmt.Errorf("--%s: %s is not valid before %s UTC, and then until %s: set the clock of this machine if it is wrong, or put a certificate into the file that is valid now", setting, file, from, until)
	}
	return nil
}
