package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// activity is how often processes gave up a processor, and called read and write: for other nodes and files. Those for
// clients go by other calls.
type activity struct{ switches, reads, writes float64 }

// activityOf adds up the activity of processes so far.
func activityOf(pids []int) (sum activity, err error) {
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			return sum, err
		}
		for _, status := range threads {
			text, err := os.ReadFile(status)
			if err != nil {
				continue // the thread has ended
			}
			fields := procFields(string(text))
			sum.switches += fields["voluntary_ctxt_switches"] + fields["nonvoluntary_ctxt_switches"]
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if err != nil {
			return sum, err
		}
		fields := procFields(string(text))
		sum.reads += fields["syscr"]
		sum.writes += fields["syscw"]
	}
	return sum, nil
}

// procFields are the numbers in lines of "name: number".
func procFields(text string) map[string]float64 {
	fields := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			fields[name] = n
		}
	}
	return fields
}

// since is the growth since an earlier reading, less that of idle seconds, divided by parts.
func (a activity) since(before, idle activity, seconds, parts float64) activity {
	return activity{
		(a.switches - before.switches - idle.switches*seconds) / parts,
		(a.reads - before.reads - idle.reads*seconds) / parts,
		(a.writes - before.writes - idle.writes*seconds) / parts,
	}
}
