//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
)

// schedTrace has Go's system monitor sleep 10 ms at a time, and not until it is woken. With this value the line on stderr that it is made for comes
// every 24 days. Decision 0036 has the reasons.
const schedTrace = "schedtrace=2147483647"

// keepMonitorAwake starts this program again in the same process, if its environment does not say yet how Go's system monitor sleeps: nothing else
// reaches that setting. If that fails, a node is slower, not wrong.
func keepMonitorAwake(environ []string) {
	changed, isChanged := withSchedTrace(environ)
	program, err := os.Executable()
	if err == nil && isChanged {
		_ = syscall.Exec(program, os.Args, changed)
	}
}

// withSchedTrace returns an environment with schedTrace in GODEBUG, unless that has a value for it.
func withSchedTrace(environ []string) (changed []string, isChanged bool) {
	const name = "GODEBUG="
	debug := schedTrace
	for _, variable := range environ {
		value, isDebug := strings.CutPrefix(variable, name)
		switch {
		case !isDebug:
			changed = append(changed, variable)
		case strings.Contains(value, "schedtrace="):
			return environ, false
		case value != "":
			debug = value + "," + schedTrace
		}
	}
	return append(changed, name+debug), true
}
