//go:build !linux

package main

import "time"

// An alarm sleeps, by Go's timers.
type alarm struct{}

func newAlarm() alarm { return alarm{} }

func (alarm) sleep(d time.Duration) { time.Sleep(d) }

func (alarm) close() {}
