package data

import (
	"os"
	"testing"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// Scripts call commands on limiters as well.
func TestMain(m *testing.M) {
	command.Register(limiter.Rows(), Rows())
	os.Exit(m.Run())
}
