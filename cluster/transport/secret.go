package transport

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

// secretName is the name in the certificates of nodes that share a secret: the certificate need not tell which node it
// is.
const secretName = "node.stint.invalid"

// SecretTLS makes the configuration for TLS between nodes that share a secret, without files. The key of an authority
// is derived from the secret; each process signs a certificate with it for a key that it keeps in memory, and accepts
// certificates with the same signer. Whoever connects once can try secrets offline, so the secret has to be random.
func SecretTLS(secret []byte) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "stint: authority of a cluster's nodes, version 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	authority := ed25519.NewKeyFromSeed(seed)
	root, err := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "nodes with a secret"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign},
		nil, authority, authority.Public())
	if err != nil {
		return nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := issue(&x509.Certificate{Subject: pkix.Name{CommonName: secretName}, DNSNames: []string{secretName},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, root, authority, public)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(root)
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		ServerName:   secretName,
		RootCAs:      authorities,
		ClientCAs:    authorities,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: private, Leaf: leaf}},
	}, nil
}

// issue signs a certificate that is always valid, so nodes with wrong clocks accept each other too. A certificate
// without a signer signs itself.
func issue(c, signer *x509.Certificate, by ed25519.PrivateKey, public any) (*x509.Certificate, error) {
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 0,
		time.UTC)
	if signer == nil {
		signer = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer, public, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
