package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"

	"github.com/stintdb/stint/server/config"
)

// dropStartPages takes the pages of this program's file out of a process of little memory. Most of them were needed only
// to start, and the others come back from the system's cache when they are used.
func dropStartPages(cfg *config.Config) {
	if !isSmall(cfg) {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	program, errProgram := os.Executable()
	if err != nil || errProgram != nil {
		return
	}
	var from, to uintptr
	for line := range bytes.Lines(maps) {
		switch fields := bytes.Fields(line); {
		case len(fields) >= 6 && string(bytes.Join(fields[5:], []byte(" "))) == program && fields[1][1] != 'w':
			_, _ = fmt.Sscanf(string(fields[0]), "%x-%x", &from, &to)
		case len(fields) >= 5 && bytes.ContainsRune(fields[0], '-'): // the next mapping
			from, to = 0, 0
		case to > from && string(line[:min(len(line), 10)]) == "Anonymous:" && string(fields[1]) == "0": // as in the file
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
