//go:build unix

package info

import (
	"syscall"
	"time"
)

// cpuTimes returns the processor time that the process has used, in the system and by itself.
func cpuTimes() (system, user time.Duration) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, 0
	}
	return time.Duration(use.Stime.Nano()), time.Duration(use.Utime.Nano())
}
