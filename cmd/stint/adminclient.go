package main

import (
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
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/server/config"
)

// adminFlags are the flags of a command that name a server's --admin.
type adminFlags struct {
	address, ca string
	tls         bool
	err         error // of STINT_ADMIN_TLS
}

// adminUsage describes adminFlags.
const adminUsage = `  --admin HOST:PORT     the address of the server's --admin [default
                        STINT_ADMIN, or 127.0.0.1:6380]; if it means all
                        interfaces, the loopback address is used
  --tls                 connect by TLS, for a server with --admin-tls [default
                        STINT_ADMIN_TLS]; the certificate is checked unless HOST
                        is loopback and there is no --cacert
  --cacert FILE         the CA of the server's certificate [default: the CAs
                        that this machine trusts]
`

func (p *process) adminFlags(set *pflag.FlagSet) *adminFlags {
	var cfg config.Config
	setting, _ := config.Lookup("admin-tls")
	f := new(adminFlags)
	if value := p.variable(setting.Env()); value != "" {
		if err := setting.Set(&cfg, value); err != nil {
			f.err = cli.Errorf("%s: %w", setting.Env(), err)
		}
	}
	set.StringVar(&f.address, "admin", cmp.Or(p.variable("STINT_ADMIN"), config.Default().Admin), "")
	set.BoolVar(&f.tls, "tls", cfg.AdminTLS, "")
	set.StringVar(&f.ca, "cacert", "", "")
	return f
}

// adminClient sends requests to a server's --admin.
type adminClient struct {
	host string // HOST:PORT
	url  string // of the host
	http *http.Client
}

// adminClient is for the server that the flags name.
func (p *process) adminClient(f *adminFlags) (*adminClient, error) {
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
	c := &adminClient{host: net.JoinHostPort(host, port), http: &http.Client{Transport: direct}}
	c.url = "http://" + c.host
	if !f.tls {
		if f.ca != "" {
			return nil, cli.Errorf("--cacert needs --tls: add --tls, or leave --cacert out")
		}
		return c, nil
	}
	c.url = "https://" + c.host
	direct.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.ca == "" && (host == "localhost" || ip != nil && ip.IsLoopback())} //nolint:gosec // a certificate names the address that other machines use
	if f.ca != "" {
		pem, err := p.readFile(f.ca)
		if err != nil {
			return nil, cli.Errorf("--cacert: %w", err)
		}
		direct.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !direct.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Errorf("--cacert: %s holds no certificate in PEM", f.ca)
		}
	}
	return c, nil
}

// ask sends a request without a body. bearer is the token, or a user and password with a colon in between; "" for
// neither. The caller closes the body of the response.
func (c *adminClient) ask(ctx context.Context, method, path, bearer string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := c.http.Do(request)
	switch {
	case err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return nil, errors.New("the server has no --admin-tls: leave --tls out")
	case err != nil:
		return nil, fmt.Errorf("the server does not answer: %w", err)
	case response.StatusCode == http.StatusBadRequest && response.TLS == nil:
		defer response.Body.Close()
		if said, _ := io.ReadAll(io.LimitReader(response.Body, 4096)); strings.Contains(string(said), "HTTP request to an HTTPS server") {
			return nil, errors.New("the server has --admin-tls: add --tls")
		}
		return nil, fmt.Errorf("%s replies %s", c.url, response.Status)
	}
	return response, nil
}

// refusal is the error in an answer, or its status if there is none.
func refusal(response *http.Response) string {
	var answer struct{ Error string }
	_ = json.NewDecoder(io.LimitReader(response.Body, 4096)).Decode(&answer)
	return cmp.Or(answer.Error, response.Status)
}
