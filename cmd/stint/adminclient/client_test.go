package adminclient

import (
	"net/http"
	"os"
	"testing"

	"github.com/stintdb/stint/internal/testtls"
)

// A server on another machine has to show a certificate for its name; one here need not, unless there is a CA to check
// it.
func TestAdminCertificateIsChecked(t *testing.T) {
	certificates := testtls.New(t)
	for address, checked := range map[string]bool{
		"127.0.0.1:6380": false, "[::1]:6380": false, "localhost:6380": false, ":6380": false, "0.0.0.0:6380": false,
		"10.0.0.1:6380": true, "stint.internal:6380": true, "localhost.example.com:6380": true,
	} {
		for _, ca := range []string{"", certificates.CA} {
			c, err := New(&Flags{address: address, ca: ca, tls: true}, os.ReadFile)
			if err != nil {
				t.Fatal(err)
			}
			secrets := c.http.Transport.(*http.Transport).TLSClientConfig
			if secrets.InsecureSkipVerify != (!checked && ca == "") || ca != "" && !secrets.RootCAs.Equal(certificates.Pool) {
				t.Errorf("%s with the CA %q: skips the check: %t", address, ca, secrets.InsecureSkipVerify)
			}
		}
	}
}
