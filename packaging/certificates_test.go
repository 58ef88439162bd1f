package packaging

import (
	"slices"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// leaves are the certificates that sign no others, by their secrets.
func (k *kubernetes) leaves() map[string]certmanager.CertificateSpec {
	leaves := map[string]certmanager.CertificateSpec{}
	for _, cert := range k.certs {
		if !cert.Spec.IsCA {
			leaves[cert.Spec.SecretName] = cert.Spec
		}
	}
	return leaves
}

// checkCertificates holds the certificates to their issuers, and to the names by which nodes and clients connect.
func (k *kubernetes) checkCertificates() {
	k.Helper()
	leaves, authorities := k.leaves(), map[string]certmanager.CertificateSpec{}
	for _, cert := range k.certs {
		if cert.Spec.IsCA {
			authorities[cert.Spec.SecretName] = cert.Spec
		}
	}
	if len(leaves)+len(authorities) != len(k.certs) {
		k.Errorf("two certificates write one secret: %d leaves, %d authorities, %d certificates", len(leaves), len(authorities), len(k.certs))
	}
	for secret, authority := range authorities {
		if issuer, is := k.issuers[authority.IssuerRef.Name]; !is || issuer.SelfSigned == nil || authority.CommonName == "" || authority.Duration.Hours() < 5*365*24 {
			k.Errorf("authority %s: issuer %+v, %+v", secret, issuer, authority)
		}
	}
	signers := map[string]string{}
	for secret, leaf := range leaves {
		issuer, own := k.issuers[leaf.IssuerRef.Name]
		if !own && leaf.IssuerRef.Kind == "" {
			k.Errorf("certificate %s: there is no issuer %s", secret, leaf.IssuerRef.Name)
		}
		if own && (issuer.CA == nil || !authorities[issuer.CA.SecretName].IsCA) {
			k.Errorf("certificate %s: the issuer %s has no authority", secret, leaf.IssuerRef.Name)
		}
		if other, is := signers[leaf.IssuerRef.Name]; is {
			k.Errorf("one authority signs %s and %s: a client's could join as a node", secret, other)
		}
		signers[leaf.IssuerRef.Name] = secret
	}
	if len(k.certs) == 0 {
		return
	}
	volumes := map[string]string{}
	for _, volume := range k.set.Spec.Template.Spec.Volumes {
		volumes[volume.Name] = volume.Secret.SecretName
	}
	if secret, is := volumes["nodes-tls"]; is {
		nodes := leaves[secret]
		for _, peer := range k.settings.cfg.ClusterPeers {
			if host, _, _ := strings.Cut(peer, ":"); !slices.Contains(nodes.DNSNames, host) {
				k.Errorf("the certificate %s is not for %s: %v", secret, host, nodes.DNSNames)
			}
		}
		for _, usage := range []certmanager.KeyUsage{certmanager.UsageServerAuth, certmanager.UsageClientAuth} {
			if !slices.Contains(nodes.Usages, usage) {
				k.Errorf("the certificate %s has no usage %q, but nodes are both", secret, usage)
			}
		}
	}
	if secret, is := volumes["tls"]; is {
		host, _, _ := strings.Cut(k.settings.cfg.Advertise, ":")
		for _, name := range []string{k.set.Name, k.set.Name + ".default.svc", host} {
			if name != "" && !slices.Contains(leaves[secret].DNSNames, name) {
				k.Errorf("the certificate %s is not for %s: %v", secret, name, leaves[secret].DNSNames)
			}
		}
	}
}
