package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU time in /proc/PID/stat. Linux has reported
// it in hundredths of a second to user space on every architecture that Go
// runs on (USER_HZ), independent of the kernel's tick.
const clockTick = 10 * time.Millisecond

// cpuTime is the time used by the processes so far, in user and kernel mode,
// all threads together.
func cpuTime(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		t, err := parseStatCPU(string(text))
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		sum += t
	}
	return sum, nil
}

// parseStatCPU adds utime and stime, fields 14 and 15 of /proc/PID/stat.
// The second field is the program's name in parentheses, which may itself
// hold spaces and parentheses: counting begins after the last one.
func parseStatCPU(stat string) (time.Duration, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("no program name")
	}
	fields := strings.Fields(stat[end+1:]) // fields[0] is field 3
	const utime, stime = 14 - 3, 15 - 3
	if len(fields) <= stime {
		return 0, fmt.Errorf("only %d fields after the program name", len(fields))
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("utime: %w", err)
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stime: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}

// sleeps is how often threads of the processes have waited so far, each of which somebody had to wake. Threads that
// have ended do not count.
func sleeps(pids []int) (sum int64, err error) {
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			return 0, err
		}
		for _, path := range threads {
			text, err := os.ReadFile(path)
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // it has just ended
			}
			n, err := parseStatusSleeps(string(text))
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			sum += n
		}
	}
	return sum, nil
}

// parseStatusSleeps reads the line "voluntary_ctxt_switches:  1234" of the status of a thread.
func parseStatusSleeps(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if n, found := strings.CutPrefix(line, "voluntary_ctxt_switches:"); found {
			return strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return 0, errors.New("no line voluntary_ctxt_switches")
}

// residentBytes is the memory that the processes hold (VmRSS), together.
func residentBytes(pids []int) (int64, error) { return statusBytes(pids, "VmRSS") }

// statusBytes is a memory size in the status of the processes, together.
func statusBytes(pids []int, field string) (int64, error) {
	var sum int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		n, err := parseStatusBytes(string(text), field)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/status: %w", pid, err)
		}
		sum += n
	}
	return sum, nil
}

// parseStatusBytes reads a line such as "VmRSS:  1234 kB" of /proc/PID/status.
func parseStatusBytes(status, field string) (int64, error) {
	for line := range strings.Lines(status) {
		rest, found := strings.CutPrefix(line, field+":")
		if !found {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) != 2 || fields[1] != "kB" {
			return 0, fmt.Errorf("cannot read %q", strings.TrimSpace(line))
		}
		kb, err := strconv.ParseInt(fields[0], 10, 64)
		return kb * 1024, err
	}
	return 0, fmt.Errorf("no line %s (has the process ended?)", field)
}
