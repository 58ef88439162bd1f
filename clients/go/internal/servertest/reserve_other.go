//go:build !linux

package servertest

import "net"

// Reserve returns an address whose port was free a moment ago: outside Linux, a socket that does not listen keeps
// servers away from its port.
func Reserve() (address string, release func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	defer listener.Close()
	return listener.Addr().String(), func() {}, nil
}
