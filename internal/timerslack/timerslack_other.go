//go:build !linux

package timerslack

// Reset does nothing here.
func Reset() {}
