package packaging

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// makeCertificates runs the lines with openssl of docs/kubernetes.md, which are four, and returns the folder of their
// files. The names in the certificates are replaced unless names is empty.
func makeCertificates(t *testing.T, names string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	lines := slices.DeleteFunc(pageLines(t), func(line string) bool { return !strings.HasPrefix(line, "openssl ") })
	if len(lines) != 4 {
		t.Fatalf("%d lines with openssl", len(lines))
	}
	for _, line := range lines {
		if before, after, has := strings.Cut(line, "subjectAltName="); has && names != "" {
			line = before + "subjectAltName=" + names + after[strings.Index(after, "'"):]
		}
		shell := testserver.Command(t, "sh", "-c", line)
		shell.Dir = dir
		if output, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, output)
		}
	}
	return dir
}

func readCertificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(path, strings.TrimSuffix(path, ".crt")+".key")
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

// TestOpenSSLNames looks for the names in the certificates of openssl by which nodes and clients connect.
func TestOpenSSLNames(t *testing.T) {
	dir := makeCertificates(t, "")
	k := objects(t, "stint", "{tls: {enabled: true}, certManager: {enabled: true}}")
	k.checkSettings()
	for file, of := range map[string]string{"nodes.crt": "stint-nodes", "stint.crt": "stint-tls"} {
		made := readCertificate(t, filepath.Join(dir, file))
		if made.IsCA {
			t.Errorf("%s may sign others", file)
		}
		wanted := k.leaves()[of].DNSNames
		if len(wanted) < 3 {
			t.Fatalf("cert-manager's certificate %s is for %v", of, wanted)
		}
		for _, name := range wanted {
			if err := made.VerifyHostname(name); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestOpenSSL starts a cluster with the certificates of openssl. Clients that trust the authority are served, others
// are not.
func TestOpenSSL(t *testing.T) {
	dir := makeCertificates(t, "IP:127.0.0.1") // where the nodes of this test are
	file := func(name string) string { return filepath.Join(dir, name) }
	program := testserver.Build(t, root)
	testserver.StartCluster(t, program, 3,
		"--cluster-tls-cert", file("nodes.crt"), "--cluster-tls-key", file("nodes.key"), "--cluster-tls-ca", file("nodes-ca.crt"))
	address := testserver.StartServer(t, program, "--admin", "", "--requirepass", "some-value",
		"--tls-listen", "127.0.0.1:0", "--tls-cert", file("stint.crt"), "--tls-key", file("stint.key")).Listening(t, "TLS")
	for authority, trusts := range map[string]bool{"stint-ca.crt": true, "nodes-ca.crt": false} {
		text, err := os.ReadFile(file(authority))
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(text)
		reply, err := ping(address, &tls.Config{RootCAs: pool})
		if (err == nil) != trusts || trusts && reply != "+PONG\r\n" {
			t.Errorf("with %s: %q, %v", authority, reply, err)
		}
	}
	lines := slices.DeleteFunc(pageLines(t), func(line string) bool { return !strings.HasPrefix(line, "redis-cli ") })
	host, port, _ := net.SplitHostPort(address)
	shell := testserver.Command(t, "sh", "-c", strings.ReplaceAll(strings.Join(lines, " && "), "-h stint", "-h "+host+" -p "+port))
	shell.Dir, shell.Env = dir, append(os.Environ(), "PASSWORD=some-value")
	if output, err := shell.CombinedOutput(); err != nil || !strings.HasSuffix(string(output), "PONG\n") || len(lines) == 0 {
		t.Errorf("%s: %v\n%s", lines, err, output)
	}
}

// ping logs in and sends PING by TLS.
func ping(address string, config *tls.Config) (reply string, err error) {
	const patience = testwait.Limit
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", address, config)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("AUTH some-value\r\nPING\r\n")); err != nil {
		return "", err
	}
	lines := bufio.NewReader(conn)
	if reply, err = lines.ReadString('\n'); err != nil || reply != "+OK\r\n" {
		return reply, err
	}
	return lines.ReadString('\n')
}
