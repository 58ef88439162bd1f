package testaddress

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// Reserve returns an address of IPv4 that the system gives to nobody until it is released. Until then a socket that
// never listens is bound to it: no other bind to port 0 and no outgoing connection gets its port. A server that asks
// for the address can listen on it, again and again, if it sets SO_REUSEADDR, which servers do: Linux allows that
// unless another socket listens there.
func Reserve() (address string, release func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, os.NewSyscallError("socket", err)
	}
	release = sync.OnceFunc(func() { _ = syscall.Close(socket) })
	port, err := bindAnywhere(socket)
	if err != nil {
		release()
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", port), release, nil
}

// bindAnywhere binds a socket to a port that the system chooses.
func bindAnywhere(socket int) (port int, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return bound.(*syscall.SockaddrInet4).Port, nil
}
