// Package sysmem asks the system about memory.
package sysmem

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Total is the memory this process may take: the machine's or, if that is less, its container's.
func Total() int64 {
	least := int64(1) << 30
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err == nil {
		least = int64(uint64(info.Totalram) * uint64(info.Unit)) //nolint:unconvert // 32-bit systems have a uint32
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	return least
}
