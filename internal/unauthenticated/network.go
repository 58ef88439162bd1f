package unauthenticated

import "net/netip"

// Local is the network of unix sockets.
const Local = "local"

// Network is the part of a client's HOST:PORT that the client cannot change at will: an IPv4 address, the /64 network of
// an IPv6 address, the usual size of one customer's network, or Local for anything else.
func Network(address string) string { return Prefix(address, 32, 64) }

// Prefix is the network of a client's HOST:PORT with the given number of bits of an IPv4 or an IPv6 address.
func Prefix(address string, bits4, bits6 int) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return Local
	}
	ip := at.Addr().Unmap().WithZone("")
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
