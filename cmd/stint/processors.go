package main

import (
	"runtime"
	"strings"

	"github.com/stintdb/stint/server/config"
)

// addProcessors raises GOMAXPROCS by the number of event loops, so that they may keep a processor while they wait and
// leave as many as there are cores to everything else. It returns false, and changes nothing, where they may not:
// decision 0044 has the reasons.
func addProcessors(environ []string, cfg *config.Config) bool {
	if !mayKeepProcessors(environ, cfg) {
		return false
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + cfg.LoopCount())
	return true
}

func mayKeepProcessors(environ []string, cfg *config.Config) bool {
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if name == "GOMAXPROCS" && value != "" || name == "GODEBUG" && strings.Contains(value, "asyncpreemptoff=1") {
			return false
		}
	}
	return runtime.GOOS == "linux" && cfg.Dir == "" && !cfg.HasUpstream()
}
