// Package adminclient sends requests to a server's --admin.
package adminclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/server/config"
)

// Flags are the flags of a command that name a server's --admin.
type Flags struct {
	address, ca string
	tls         bool
	err         error // of STINT_ADMIN_TLS
}

// Usage describes [Flags].
const Usage = `  --admin HOST:PORT     the address of the server's --admin [default
                        STINT_ADMIN, or 127.0.0.1:6380]; if it means all
                        interfaces, the loopback address is used
  --tls                 connect over TLS, for a server with --admin-tls [default
                        STINT_ADMIN_TLS]; the certificate is checked unless HOST
                        is loopback and there is no --cacert
  --cacert FILE         the CA of the server's certificate [default: the CAs
                        that this machine trusts]
`

// AddFlags adds the flags to those of a command. Their defaults are in environment variables.
func AddFlags(set *pflag.FlagSet, variable func(name string) string) *Flags {
	var cfg config.Config
	setting, _ := config.Lookup("admin-tls")
	f := new(Flags)
	if value := variable(setting.Env()); value != "" {
		if err := setting.Set(&cfg, value); err != nil {
			f.err = cli.Errorf("%s: %w", setting.Env(), err)
		}
	}
	set.StringVar(&f.address, "admin", cmp.Or(variable("STINT_ADMIN"), config.Default().Admin), "")
	set.BoolVar(&f.tls, "tls", cfg.AdminTLS, "")
	set.StringVar(&f.ca, "cacert", "", "")
	return f
}

// Client sends requests to a server's --admin.
type Client struct {
	Host string // HOST:PORT
	URL  string // of the host
	http *http.Client
}

// New returns a client for the server that the flags name. readFile reads the file of --cacert.
func New(f *Flags, readFile func(name string) ([]byte, error)) (*Client, error) {
	if f.err != nil {
		return nil, f.err
	}
	host, port, err := net.SplitHostPort(f.address)
	if _, invalid := strconv.ParseUint(port, 10, 16); err != nil || invalid != nil {
		return nil, cli.Errorf("--admin: must be HOST:PORT, such as %s, got '%s'", config.Default().Admin, f.address)
	}
	ip := net.ParseIP(host)
	if host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	direct := &http.Transport{Proxy: nil, DisableKeepAlives: true, DisableCompression: true} // without the machine's proxy
	direct.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		// Without a host this needs no look-up of localhost, which small images do not have.
		return new(net.Dialer).DialContext(ctx, network, f.address)
	}
	c := &Client{Host: net.JoinHostPort(host, port), http: &http.Client{Transport: direct}}
	c.URL = "http://" + c.Host
	if !f.tls {
		if f.ca != "" {
			return nil, cli.Errorf("--cacert needs --tls: add --tls, or leave --cacert out")
		}
		return c, nil
	}
	c.URL = "https://" + c.Host
	direct.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.ca == "" && (host == "localhost" || ip != nil && ip.IsLoopback())} //nolint:gosec // a certificate names the address that other machines use
	if f.ca != "" {
		pem, err := readFile(f.ca)
		if err != nil {
			return nil, cli.Errorf("--cacert: %w", err)
		}
		direct.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !direct.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Errorf("--cacert: %s contains no certificate in PEM", f.ca)
		}
	}
	return c, nil
}

// Ask sends a request without a body. bearer is the token, or a user and password with a colon in between; "" for
// neither. The caller closes the body of the response.
func (c *Client) Ask(ctx context.Context, method, path, bearer string) (*http.Response, error) {
	return c.Send(ctx, method, path, bearer, nil)
}

// Send is Ask with a body in JSON, nil for none.
func (c *Client) Send(ctx context.Context, method, path, bearer string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := c.http.Do(request)
	switch {
	case err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return nil, errors.New("the server has no --admin-tls: leave --tls out")
	case errors.Is(err, context.Canceled):
		return nil, context.Canceled
	case err != nil:
		if sent, is := errors.AsType[*url.Error](err); is {
			err = sent.Err // without the path, which the user did not write
		}
		return nil, fmt.Errorf("the server does not answer at %s: %w; if its --admin is another address, add --admin HOST:PORT", c.URL, err)
	case response.StatusCode == http.StatusBadRequest && response.TLS == nil:
		said, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
		_ = response.Body.Close()
		if strings.Contains(string(said), "HTTP request to an HTTPS server") {
			return nil, errors.New("the server has --admin-tls: add --tls")
		}
		response.Body = io.NopCloser(bytes.NewReader(said))
	}
	return response, nil
}

// Refusal is the error in an answer, or its status if there is none.
func Refusal(response *http.Response) string {
	var answer struct{ Error string }
	_ = json.NewDecoder(io.LimitReader(response.Body, 4096)).Decode(&answer)
	return cmp.Or(answer.Error, response.Status)
}

// Unauthorized is the error of a server that wants its token, or if it has none, a user's password.
func Unauthorized(response *http.Response) error {
	wantsPassword := strings.Contains(response.Header.Get("WWW-Authenticate"), "password")
	switch given := response.Request.Header.Get("Authorization") != ""; {
	case given && wantsPassword:
		return fmt.Errorf("the server refused the request: %s; check --user and --password-file", Refusal(response))
	case given:
		return fmt.Errorf("the server refused the request: %s; check --token-file, or STINT_ADMIN_TOKEN", Refusal(response))
	case wantsPassword:
		return errors.New("the server needs a user's password: put it into a file, and name the file with --password-file")
	}
	return errors.New("the server needs its --admin-token: put it into a file, and name the file with --token-file")
}
