//go:build !linux

package cluster

import "time"

// sinceBoot is not known here: the wall clock measures how long a process was down.
func sinceBoot() (boot string, up time.Duration) { return "", 0 }
