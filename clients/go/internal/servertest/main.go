package servertest

import (
	"fmt"
	"os"
	"testing"
)

// Main is the TestMain of a package whose tests share one server: it starts the server, stores its address in address,
// runs the tests, stops the server and ends the process. A server that does not stop on request is a failure.
func Main(m *testing.M, address *string) {
	server, err := Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*address = server.Address
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	Clean()
	os.Exit(code)
}
