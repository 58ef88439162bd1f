package servertest

import (
	"fmt"
	"syscall"
)

// Reserve is [Reserved] until release is called.
//
// It holds a socket that is bound and does not listen. Servers bind to its port all the same, as often as they like, if
// they set SO_REUSEADDR as it does: Stint, redis-server and every server in Go do.
func Reserve() (address string, release func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserve an address: %w", err)
	}
	release = func() { _ = syscall.Close(socket) }
	port, err := bindToFreePort(socket)
	if err != nil {
		release()
		return "", nil, fmt.Errorf("reserve an address: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port), release, nil
}

func bindToFreePort(socket int) (port int, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	return bound.(*syscall.SockaddrInet4).Port, nil
}
