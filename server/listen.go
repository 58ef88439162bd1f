package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/panjf2000/gnet/v2"

	"github.com/stintdb/stint/server/config"
)

const (
	readBufferBytes  = 64 << 10 // most bytes taken from a connection at a time
	writeBufferBytes = 64 << 10
	keepAlive        = 300 * time.Second
)

// listen starts the event loops. The channel yields once, when they have ended.
func (s *Server) listen(ready func([]string)) (run chan error, err error) {
	cfg := s.Config()
	var addresses, protocols []string
	secure, err := s.listenTLS()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(secure)
		}
	}()
	for _, a := range cfg.Listen {
		network, address := config.SplitAddress(a)
		if address, err = probe(network, address); err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
		protocols = append(protocols, network+"://"+everyInterface(address))
	}
	run = make(chan error, 1)
	booted := make(chan struct{})
	go func() {
		run <- gnet.Rotate(&loops{Server: s, booted: booted}, protocols,
			gnet.WithMulticore(true), gnet.WithNumEventLoop(cfg.Loops), gnet.WithReuseAddr(true),
			gnet.WithReadBufferCap(readBufferBytes), gnet.WithWriteBufferCap(writeBufferBytes),
			gnet.WithLogger(quietLogger{s.log}))
	}()
	select {
	case err = <-run:
		return nil, fmt.Errorf("cannot listen on %s: %w", strings.Join(addresses, ", "), err)
	case <-booted:
		for _, ln := range secure {
			addresses = append(addresses, ln.Addr().String()+" (TLS)")
			s.secure = append(s.secure, ln)
			go s.serveTLS(ln)
		}
		ready(addresses)
		return run, nil
	}
}

// everyInterface writes an address of every interface the way by which the event loops serve IPv4 and IPv6 there: they
// take [::] for IPv6 only.
func everyInterface(address string) string {
	if port, found := strings.CutPrefix(address, "[::]"); found {
		return port
	}
	return address
}

// probe finds out whether an address can be listened on, so that the error names it and says what to do, and resolves
// port 0. The event loops then bind it themselves.
func probe(network, address string) (string, error) {
	if network == "unix" {
		if err := clearSocket(address); err != nil {
			return "", err
		}
	}
	ln, err := listenOn(network, address, "--listen")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// listenOn is net.Listen with an error that says what to do.
func listenOn(network, address, setting string) (net.Listener, error) {
	kind := network
	if strings.HasPrefix(address, "0.0.0.0:") {
		kind = "tcp4" // package net would take it for every interface of IPv6 too
	}
	ln, err := net.Listen(kind, address)
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
