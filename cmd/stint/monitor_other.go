//go:build !unix

package main

// keepMonitorAwake needs a system where a process can start another program.
func keepMonitorAwake([]string) {}
