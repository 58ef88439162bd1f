package entrylog

import (
	"os"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

func TestMain(m *testing.M) {
	testsize.OneProcessor()
	os.Exit(m.Run())
}
