package netio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/stintdb/stint/server/config"
)

// OpenAll listens on addresses, all or none. Sockets that systemd has opened on them are taken as they are.
func OpenAll(addresses []string, setting string) (listeners []net.Listener, err error) {
	for _, a := range addresses {
		network, address := config.SplitAddress(a)
		ln := inherited().take(network, address)
		if ln == nil {
			if ln, err = listenOn(network, address, setting); err != nil {
				CloseAll(listeners)
				return nil, err
			}
		}
		listeners = append(listeners, ln)
	}
	return listeners, nil
}

// listenOn is net.Listen with an error that names the remedy.
func listenOn(network, address, setting string) (net.Listener, error) {
	kind := network
	if network == "unix" {
		if err := clearSocket(address); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(address, "0.0.0.0:") {
		kind = "tcp4" // package net would include every interface of IPv6
	}
	how := net.ListenConfig{KeepAliveConfig: keepAlive}
	how.SetMultipathTCP(false) // a limiter's clients have one path, and the search for more costs time on every connection
	ln, err := how.Listen(context.Background(), kind, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: the address is in use, perhaps by Redis or another Stint; stop that one, or choose another address with %s", address, setting)
	}
	if err != nil {
		if network == "unix" {
			address = "unix:" + address // the form of the setting
		}
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", address, err, setting)
	}
	return ln, nil
}

// clearSocket removes the socket file that a killed server has left, and nothing else.
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
