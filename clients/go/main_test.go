package stint_test

import (
	"testing"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// address is that of a server which all tests and examples share. Each uses keys of its own.
var address string

func TestMain(m *testing.M) { servertest.Main(m, &address) }
