//go:build !linux

package testaddress

import "net"

// Reserve only finds an address that nobody listens on now. Unlike Linux, other systems let nobody listen where another
// socket is bound, so another program can take the address before it is used.
func Reserve() (address string, release func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return listener.Addr().String(), func() {}, listener.Close()
}
