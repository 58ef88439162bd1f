// Package sysmem asks the system about memory.
package sysmem

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// Total is the memory this process may take: the machine's or, if that is less, that of its container or service.
func Total() int64 {
	machine := int64(1) << 30
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err == nil {
		machine = int64(uint64(info.Totalram) * uint64(info.Unit)) //nolint:unconvert // 32-bit systems have a uint32
	}
	return groupLimit(os.DirFS("/"), machine)
}

// groupLimit is the least limit of the process's control group and of those around it, or the machine's memory if that
// is less. Both versions of cgroups(7) are looked at. In a container the root is often its own group, whatever path the
// process has outside.
func groupLimit(root fs.FS, machine int64) int64 {
	least := machine
	look := func(mount, group, file string) {
		for dir := path.Join("/", group); ; dir = path.Dir(dir) {
			text, _ := fs.ReadFile(root, path.Join(mount, dir, file))
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
			if dir == "/" {
				return
			}
		}
	}
	const mount2, file2, mount1, file1 = "sys/fs/cgroup", "memory.max", "sys/fs/cgroup/memory", "memory.limit_in_bytes"
	look(mount2, "/", file2)
	look(mount1, "/", file1)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		_, of, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch controllers, group, _ := strings.Cut(of, ":"); controllers {
		case "":
			look(mount2, group, file2)
		case "memory":
			look(mount1, group, file1)
		}
	}
	return least
}
