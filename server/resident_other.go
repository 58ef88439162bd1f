//go:build !linux

package server

// residentBytes is not known here without cgo.
func residentBytes() int64 { return 0 }
