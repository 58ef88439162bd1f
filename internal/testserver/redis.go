package testserver

import (
	"net"
	"testing"
)

// StartRedis starts a redis-server that keeps nothing on disk, and returns it once it accepts connections at its
// address.
func StartRedis(t testing.TB, options ...string) *Process {
	t.Helper()
	return StartLikeRedis(t, "redis-server", options...)
}

// StartLikeRedis starts a program with the options of Redis, such as valkey-server.
func StartLikeRedis(t testing.TB, program string, options ...string) *Process {
	t.Helper()
	address := ReserveAddress(t)
	_, port, _ := net.SplitHostPort(address)
	p := Run(t, program, append([]string{"--bind", "127.0.0.1", "--port", port, "--save", ""}, options...)...)
	p.Address = address
	p.AwaitConnections(t, "tcp", address)
	return p
}
