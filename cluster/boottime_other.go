//go:build !linux

package cluster

import "time"

// sinceBoot returns nothing on this system: the wall clock measures how long a process was down.
func sinceBoot() (boot string, up time.Duration) { return "", 0 }
