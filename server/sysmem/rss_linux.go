package sysmem

import (
	"os"
	"strconv"
	"strings"
)

// RSS is the process's resident memory in bytes.
func RSS() int64 { return statm(1) }

// MappedFiles is the part of [RSS] that is in files: the program itself, which the system reads as it is needed.
func MappedFiles() int64 { return statm(2) }

// statm is a field of proc(5)'s statm, in bytes.
func statm(field int) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) <= field {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[field], 10, 64)
	return pages * int64(os.Getpagesize())
}
