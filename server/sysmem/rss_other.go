//go:build !linux

package sysmem

// RSS is not known here without cgo.
func RSS() int64 { return 0 }

// MappedFiles is not known here without cgo.
func MappedFiles() int64 { return 0 }
