// Package servertest runs a server in a test.
package servertest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/server"
)

// Serve runs a server until the end of the test, or until stop, which waits for the server's end and may be called
// again. The addresses are HOST:PORT, first the ones for Redis clients, last the ones of services.
func Serve(t testing.TB, s *server.Server) (addresses []string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan []string, 1), make(chan error, 1)
	go func() { ended <- s.Serve(ctx, func(addresses []string) { ready <- addresses }) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	select {
	case addresses = <-ready:
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	for i, a := range addresses {
		addresses[i], _, _ = strings.Cut(a, " ")
	}
	return addresses, stop
}
