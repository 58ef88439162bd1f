package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/stintdb/stint/server/config"
)

const (
	readBufferBytes  = 64 << 10 // most bytes taken from a connection at a time
	writeBufferBytes = 64 << 10
	keepAlive        = 300 * time.Second
)

// listen opens all addresses, starts the event loops, and then accepts connections. It returns the addresses in use.
func (s *Server) listen() (addresses []string, err error) {
	cfg := s.Config()
	plain, err := openAll(cfg.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	secure, err := s.listenTLS()
	if err == nil {
		s.loops, err = s.startLoops(cfg.Loops)
	}
	if err != nil {
		closeAll(append(plain, secure...))
		return nil, err
	}
	for _, ln := range plain {
		addresses = append(addresses, ln.Addr().String())
		s.gate.add(ln, func(conn net.Conn) { s.loops.take(conn, s.cannotAccept) }, s.cannotAccept)
	}
	for _, ln := range secure {
		addresses = append(addresses, ln.Addr().String()+" (TLS)")
		s.gate.add(ln, s.takeTLS, s.cannotAccept)
	}
	return addresses, nil
}

// openAll listens on addresses, all or none.
func openAll(addresses []string, setting string) (listeners []net.Listener, err error) {
	for _, a := range addresses {
		network, address := config.SplitAddress(a)
		if network == "unix" {
			err = clearSocket(address)
		}
		var ln net.Listener
		if err == nil {
			ln, err = listenOn(network, address, setting)
		}
		if err != nil {
			closeAll(listeners)
			return nil, err
		}
		listeners = append(listeners, ln)
	}
	return listeners, nil
}

// listenOn is net.Listen with an error that says what to do.
func listenOn(network, address, setting string) (net.Listener, error) {
	kind := network
	if strings.HasPrefix(address, "0.0.0.0:") {
		kind = "tcp4" // package net would take it for every interface of IPv6 too
	}
	how := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAlive / 5, Count: 5}}
	how.SetMultipathTCP(false) // clients of a limiter have one path, and every connection would pay for looking
	ln, err := how.Listen(context.Background(), kind, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: the address is taken, perhaps by a Redis or another Stint; stop that or choose another with %s", address, setting)
	}
	if err != nil {
		if network == "unix" {
			address = "unix:" + address // as the setting has it
		}
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", address, err, setting)
	}
	return ln, nil
}

// clearSocket removes the socket file a server that was killed has left behind, and nothing else.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot listen on unix:%s: %w", path, err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("cannot listen on unix:%s: a file that is not a socket is in the way; move it or choose another path with --listen", path)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return fmt.Errorf("cannot listen on unix:%s: another server answers there; stop it or choose another path with --listen", path)
	}
	return os.Remove(path)
}
