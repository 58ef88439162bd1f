package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OtherWork is the part of the CPUs' time that did not serve the measurement, from 0 to 1. NaN: not known.
type OtherWork struct {
	Processes float64 // used by processes that belong neither to this program nor to a server
	Stolen    float64 // taken by the host of a virtual machine
}

// mostOtherWork is the part from which a run judges nothing.
const mostOtherWork = 0.05

func (o OtherWork) sum() float64 { return o.Processes + o.Stolen }

// IsTooMuch reports whether results are not to be trusted.
func (o OtherWork) IsTooMuch() bool { return o.sum() > mostOtherWork }

func (o OtherWork) String() string {
	text := fmt.Sprintf("Other processes used %.0f %% of the CPUs during the run", 100*o.Processes)
	if o.Stolen >= 0.005 {
		text += fmt.Sprintf(", and the host of this virtual machine took %.0f %%", 100*o.Stolen)
	}
	if o.IsTooMuch() {
		text += fmt.Sprintf(": above %.0f %%, so no goal is judged. Take the ratios, not the figures", 100*mostOtherWork)
	}
	return text + "."
}

// cpuUse is CPU time since the machine and this program began.
type cpuUse struct {
	at     time.Time
	all    time.Duration // of all processes, without interrupts, which no process is charged for
	stolen time.Duration
	own    time.Duration // of this program, the processes that it started, once they have ended, and the servers of -other
}

// readCPUUse reads the CPU time used so far.
func readCPUUse(ctx context.Context, others []Server) (u cpuUse, err error) {
	u.at = time.Now()
	if u.all, u.stolen, err = parseCPULine(readText("/proc/stat")); err != nil {
		return u, fmt.Errorf("/proc/stat: %w", err)
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			return u, err
		}
		u.own += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	for _, s := range others {
		inst, err := s.Start(ctx, s.Name, nil) // it runs already
		if err != nil {
			return u, err
		}
		t, err := cpuTime(inst.PIDs())
		if err != nil {
			return u, err
		}
		u.own += t
	}
	return u, nil
}

// since is the other work between two readings.
func (u cpuUse) since(before cpuUse) OtherWork {
	whole := float64(u.at.Sub(before.at)) * float64(runtime.NumCPU())
	return OtherWork{
		Processes: max(0, float64(u.all-before.all-(u.own-before.own))/whole),
		Stolen:    float64(u.stolen-before.stolen) / whole,
	}
}

// parseCPULine reads user, nice and system time, and stolen time, from the first line of /proc/stat.
func parseCPULine(stat string) (all, stolen time.Duration, err error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	const user, nice, system, steal = 1, 2, 3, 8
	if len(fields) <= steal || fields[0] != "cpu" {
		return 0, 0, errors.New("its first line does not have the times of all CPUs")
	}
	var ticks [steal + 1]int64
	for i := user; i <= steal; i++ {
		if ticks[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(ticks[user]+ticks[nice]+ticks[system]) * clockTick, time.Duration(ticks[steal]) * clockTick, nil
}
