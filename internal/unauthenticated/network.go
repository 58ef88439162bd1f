package unauthenticated

import "net/netip"

// Local is the network of unix sockets.
const Local = "local"

// nat64 is the prefix of RFC 6052. An IPv4 address follows, and each is another client.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Network is the part of a client's HOST:PORT that the client cannot change at will: an IPv4 address, also behind
// NAT64, the /64 network of an IPv6 address, the usual size of one customer's network, or Local for anything else.
func Network(address string) string { return Prefix(address, 32, 64) }

// Prefix is the network of a client's HOST:PORT with the given number of bits of an IPv4 or an IPv6 address.
func Prefix(address string, bits4, bits6 int) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return Local
	}
	ip := at.Addr().Unmap().WithZone("")
	if nat64.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	bits := bits4
	if ip.Is6() {
		bits = bits6
	}
	if bits == ip.BitLen() {
		return ip.String()
	}
	network, _ := ip.Prefix(bits)
	return network.String()
}
