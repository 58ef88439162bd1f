package cluster

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns how long this machine has been up, asleep or not, and a name for this boot. Nobody can set this
// clock, unlike the wall clock, so it measures how long a process was down.
func sinceBoot() (boot string, up time.Duration) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil || bootID() == "" {
		return "", 0
	}
	return bootID(), time.Duration(t.Nano())
}

// bootID is this boot's name; "" if it is unknown. Each group asks for the time since the boot once a second.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
