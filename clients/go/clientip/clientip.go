// Package clientip finds the client's address of a request that came through proxies.
//
// The sender of a request can write anything into X-Forwarded-For and similar fields, so only entries added by trusted
// proxies count. Without a list of trusted proxies, such fields are ignored.
package clientip

import (
	"net/netip"
	"strings"
)

// A Resolver identifies clients by their addresses. The zero Resolver trusts no proxy and takes each IPv4 address and
// each /64 of IPv6 addresses for one client, because providers give each customer a /64. An IPv4 address within an IPv6
// address, as sockets and NAT64 (64:ff9b::/96) have it, is that address.
type Resolver struct {
	// TrustedProxies are the networks whose X-Forwarded-For entries are trusted: those of your load balancers, such as
	// 10.0.0.0/8.
	TrustedProxies []netip.Prefix
	// IPv4Bits and IPv6Bits are the lengths of the prefixes that count as one client, 32 and 64 if they are 0.
	IPv4Bits, IPv6Bits int
}

// Resolve returns the prefix that stands for the client. remote is the address at the other end of the connection, with
// or without a port; forwarded are the values of X-Forwarded-For, or of a field with one address such as X-Real-IP, in
// the order in which they came.
//
// From remote it goes through the forwarded addresses from right to left while the current address is a trusted
// proxy's. It stops at the first address that is not trusted, and before an entry that is no address. The result is not
// valid if remote is no address, for example on a unix socket.
func (r Resolver) Resolve(remote string, forwarded []string) netip.Prefix {
	client, ok := parse(remote)
	if !ok {
		return netip.Prefix{}
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && r.trusts(client); i-- {
		next, ok := parse(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		client = next
	}
	bits := or(r.IPv6Bits, 64)
	if client.Is4() {
		bits = or(r.IPv4Bits, 32)
	}
	prefix, _ := client.Prefix(min(bits, client.BitLen())) // no error: bits is in range
	return prefix
}

func (r Resolver) trusts(address netip.Addr) bool {
	for _, network := range r.TrustedProxies {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

func or(bits, preset int) int {
	if bits <= 0 {
		return preset
	}
	return bits
}

// parse reads an address with or without a port, in brackets or not.
func parse(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		if withPort, err := netip.ParseAddrPort(text); err == nil {
			address = withPort.Addr()
		} else if address, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")); err != nil {
			return netip.Addr{}, false
		}
	}
	if nat64.Contains(address) {
		bytes := address.As16()
		return netip.AddrFrom4([4]byte(bytes[12:])), true
	}
	return address.Unmap().WithZone(""), true
}

// nat64 is the prefix of RFC 6052. Behind it stands an IPv4 address, and each is another client.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")
