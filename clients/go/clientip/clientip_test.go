package clientip_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stintdb/stint/clients/go/clientip"
)

func TestResolve(t *testing.T) {
	trusting := clientip.Resolver{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	wide := clientip.Resolver{IPv4Bits: 24, IPv6Bits: 48}
	for _, c := range []struct {
		name      string
		resolver  clientip.Resolver
		remote    string
		forwarded []string
		want      string
	}{
		{"the connection's", clientip.Resolver{}, "192.0.2.7:4711", nil, "192.0.2.7/32"},
		{"nobody is trusted", clientip.Resolver{}, "10.0.0.1:1", []string{"192.0.2.7"}, "10.0.0.1/32"},
		{"the proxy's word", trusting, "10.0.0.1:1", []string{"192.0.2.7"}, "192.0.2.7/32"},
		{"a stranger's word", trusting, "192.0.2.9:1", []string{"192.0.2.7"}, "192.0.2.9/32"},
		{"a client that makes something up", trusting, "10.0.0.1:1", []string{"1.1.1.1, 192.0.2.7"}, "192.0.2.7/32"},
		{"two proxies", trusting, "10.0.0.1:1", []string{"1.1.1.1, 192.0.2.7, 10.0.0.2"}, "192.0.2.7/32"},
		{"two fields", trusting, "10.0.0.1:1", []string{"192.0.2.7", "10.0.0.2"}, "192.0.2.7/32"},
		{"proxies all the way", trusting, "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3/32"},
		{"no address", trusting, "10.0.0.1:1", []string{"192.0.2.7, unknown"}, "10.0.0.1/32"},
		{"empty", trusting, "10.0.0.1:1", []string{""}, "10.0.0.1/32"},
		{"with a port", trusting, "10.0.0.1:1", []string{"192.0.2.7:80"}, "192.0.2.7/32"},
		{"IPv6", clientip.Resolver{}, "[2001:db8:1:2:3:4:5:6]:1", nil, "2001:db8:1:2::/64"},
		{"IPv6 with a zone", clientip.Resolver{}, "[fe80::1%eth0]:1", nil, "fe80::/64"},
		{"IPv6 in brackets", trusting, "[fd00::1]:1", []string{"[2001:db8::1]"}, "2001:db8::/64"},
		{"IPv4 in IPv6", clientip.Resolver{}, "[::ffff:192.0.2.7]:1", nil, "192.0.2.7/32"},
		{"NAT64", clientip.Resolver{}, "[64:ff9b::192.0.2.7]:1", nil, "192.0.2.7/32"},
		{"NAT64 in hexadecimal", trusting, "10.0.0.1:1", []string{"64:ff9b::c000:207"}, "192.0.2.7/32"},
		{"a trusted proxy behind NAT64", trusting, "[64:ff9b::10.0.0.1]:1", []string{"192.0.2.7"}, "192.0.2.7/32"},
		{"like NAT64", clientip.Resolver{}, "[64:ff9b::1:c000:207]:1", nil, "64:ff9b::/64"},
		{"NAT64 of a provider's own prefix", clientip.Resolver{}, "[64:ff9b:1::c000:207]:1", nil, "64:ff9b:1::/64"},
		{"wide IPv4", wide, "192.0.2.7:1", nil, "192.0.2.0/24"},
		{"wide IPv6", wide, "[2001:db8:1:2::1]:1", nil, "2001:db8:1::/48"},
		{"a unix socket", trusting, "@", []string{"192.0.2.7"}, "invalid Prefix"},
	} {
		if got := c.resolver.Resolve(c.remote, c.forwarded); got.String() != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("10.0.0.1:1", "192.0.2.7, [::1]")
	trusting := clientip.Resolver{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	f.Fuzz(func(t *testing.T, remote, forwarded string) {
		if p := trusting.Resolve(remote, []string{forwarded}); p.IsValid() && p != p.Masked() {
			t.Errorf("%v has bits beyond its length", p)
		}
	})
}

func ExampleResolver() {
	clients := clientip.Resolver{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	fmt.Println(clients.Resolve("10.0.0.1:4711", []string{"198.51.100.1, 2001:db8:1:2:3:4:5:6"}))
	// Output: 2001:db8:1:2::/64
}
