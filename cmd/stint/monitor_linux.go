package main

import (
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/stintdb/stint/internal/timerslack"
)

// schedTrace has Go's system monitor sleep 10 ms at most, and not until it is woken. With this value the line on stderr
// that it is made for comes every 24 days. Decision 0036 has the reasons.
const schedTrace = "schedtrace=2147483647"

// calmMonitor starts this program again in the same process, if its environment does not say yet how Go's system
// monitor sleeps: nothing else reaches that setting, nor the monitor's thread. If that fails, a node is slower, not
// wrong.
func calmMonitor(environ []string) {
	changed, isChanged := withSchedTrace(environ)
	if !isChanged {
		if strings.Contains(os.Getenv("GODEBUG"), schedTrace) {
			timerslack.NoteLong()
		}
		return
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	runtime.LockOSThread() // the program's first thread will be this one, which starts the monitor's
	defer runtime.UnlockOSThread()
	// With one processor, the monitor would take it back late from a thread that waits for the disk.
	if runtime.GOMAXPROCS(0) > 1 {
		timerslack.Set(timerslack.Long)
		timerslack.NoteLong()
	}
	_ = syscall.Exec(program, os.Args, changed)
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
