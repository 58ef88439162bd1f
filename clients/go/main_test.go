package stint_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// address is that of a server which all tests and examples share. Each uses keys of its own.
var address string

func TestMain(m *testing.M) {
	server, err := servertest.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	address = server.Address
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	servertest.Clean()
	os.Exit(code)
}
