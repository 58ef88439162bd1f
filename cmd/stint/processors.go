package main

import (
	"runtime"
	"strings"
)

// addProcessors raises GOMAXPROCS by a number, so that event loops may keep a processor while they wait and leave as many as there are cores to
// everything else (decision 0044). It returns false, and changes nothing, where loops do not, if the environment has GOMAXPROCS, and if it turns off
// the signals that end such a wait.
func addProcessors(environ []string, count int) bool {
	if runtime.GOOS != "linux" {
		return false
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if name == "GOMAXPROCS" && value != "" || name == "GODEBUG" && strings.Contains(value, "asyncpreemptoff=1") {
			return false
		}
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + count)
	return true
}
