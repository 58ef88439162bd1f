// Package keypair loads certificates and their private keys, and those of authorities, with errors that name the file and the mistake.
package keypair

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// Load reads a certificate and its key from the files that two settings name. The error names both settings, both files and the remedy.
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
