package stint_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// address is the address of a server shared by all tests and examples. Each uses separate keys.
var address string

func TestMain(m *testing.M) {
	if server := os.Getenv(firstCallsAt); server != "" {
		if err := printFirstCalls(server); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	servertest.Main(m, &address)
}
