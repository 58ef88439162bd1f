//go:build !linux || goroutines

package server

import (
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
)

// A client that does not read is not read from, and is closed when that has lasted long enough: as over TLS.
func TestClientThatDoesNotRead(t *testing.T) {
	h := serve(t, func(cfg *config.Config) { cfg.OutputTimeout = 100 * time.Millisecond })
	wantNoReadAhead(t, h, h.dial(t), h.dial(t))
}
