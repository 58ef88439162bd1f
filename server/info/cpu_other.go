//go:build !unix

package info

import "time"

// cpuTimes is 0: the processor time is not looked for here.
func cpuTimes() (system, user time.Duration) { return 0, 0 }
