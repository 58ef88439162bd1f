package stint_test

import (
	"testing"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// address is that of a server shared by all tests and examples. Each uses separate keys.
var address string

func TestMain(m *testing.M) { servertest.Main(m, &address) }
