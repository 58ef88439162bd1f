package server

import (
	"net"
	"testing"

	"github.com/stintdb/stint/server/config"
)

// Every interface is every one: of IPv4, and of IPv6 unless only those of IPv4 were asked for.
func TestEveryInterface(t *testing.T) {
	for listen, hosts := range map[string][]string{"0.0.0.0:0": {"127.0.0.1"}, ":0": {"127.0.0.1", "::1"}, "[::]:0": {"127.0.0.1", "::1"}} {
		h := serve(t, func(c *config.Config) { c.Listen = []string{listen} })
		_, port, err := net.SplitHostPort(h.addr)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts {
			if host == "::1" && !hasIPv6() {
				continue
			}
			h.addr = net.JoinHostPort(host, port)
			expect(t, h.dial(t), frames("PING"), "+PONG\r\n")
		}
	}
}

func hasIPv6() bool {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		ln.Close()
	}
	return err == nil
}
