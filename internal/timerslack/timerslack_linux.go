// Package timerslack sets by how much Linux may prolong the sleeps of a thread, and of threads that it starts. Decision
// 0036 has the reasons.
package timerslack

import (
	"time"

	"golang.org/x/sys/unix"
)

// Long is the slack of Go's system monitor in a node of a cluster, and usual the slack of other threads.
const (
	Long  = time.Millisecond
	usual = 50 * time.Microsecond
)

var isLong bool

// Set sets this thread's.
func Set(slack time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
}

// NoteLong notes that the program has begun with a long one, before it has other goroutines.
func NoteLong() { isLong = true }

// Reset has this thread sleep as usual. It is called where work of a node begins, now and again in each thread that
// runs goroutines: the system monitor starts some of these, and they sleep while they look for work.
func Reset() {
	if isLong {
		Set(usual)
	}
}
