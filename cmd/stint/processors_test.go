package main

import (
	"runtime"
	"testing"

	"github.com/stintdb/stint/server/config"
)

// Loops keep processors only where nothing else has to run for a request, and where signals end their waits.
func TestMayKeepProcessors(t *testing.T) {
	memory, disk, edge := config.Default(), config.Default(), config.Default()
	disk.Dir, edge.Upstream = "data", []string{"home:6379"}
	for _, c := range []struct {
		environ []string
		cfg     *config.Config
		want    bool
	}{
		{[]string{"GOMAXPROCS=", "GODEBUG=schedtrace=0"}, &memory, runtime.GOOS == "linux"},
		{[]string{"GOMAXPROCS=2"}, &memory, false},
		{[]string{"GODEBUG=gctrace=1,asyncpreemptoff=1"}, &memory, false},
		{nil, &disk, false},
		{nil, &edge, false},
	} {
		if got := mayKeepProcessors(c.environ, c.cfg); got != c.want {
			t.Errorf("%q, %q, %q: %v", c.environ, c.cfg.Dir, c.cfg.Upstream, got)
		}
	}
}
