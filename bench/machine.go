package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
)

// Machine describes the hardware and software behind the figures.
type Machine struct {
	CPU    string
	Cores  int
	Kernel string
	Commit string
	Go     string
	Redis  string
	Valkey string
}

// describeMachine reads them from the system; unavailable values are unknown.
func describeMachine(root string) Machine {
	return Machine{
		CPU:    cpuModel(readText("/proc/cpuinfo")),
		Cores:  runtime.NumCPU(),
		Kernel: orUnknown(readText("/proc/sys/kernel/osrelease")),
		Commit: commit(root),
		Go:     runtime.Version(),
		Redis:  redisVersion(output("redis-server", "--version")),
		Valkey: redisVersion(output(valkeyProgram, "--version")),
	}
}

func (m Machine) String() string {
	text := fmt.Sprintf("%s, %d cores, Linux %s, commit %s, %s, Redis %s", m.CPU, m.Cores, m.Kernel, m.Commit, m.Go, m.Redis)
	if m.Valkey != unknown {
		text += ", Valkey " + m.Valkey
	}
	return text
}

// unknown is a value that is not available.
const unknown = "unknown"

// cpuModel finds "model name : …" in /proc/cpuinfo.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// redisVersion takes 7.0.15 out of "Redis server v=7.0.15 sha=…".
func redisVersion(text string) string {
	for _, field := range strings.Fields(text) {
		if v, ok := strings.CutPrefix(field, "v="); ok {
			return v
		}
	}
	return unknown
}

// commit is the checked-out one, marked when the built tree differs from it.
func commit(root string) string {
	id := output("git", "-C", root, "rev-parse", "--short", "HEAD")
	if id == "" {
		return unknown
	}
	if output("git", "-C", root, "status", "--porcelain", "--", "*.go", "go.mod", "go.sum") != "" {
		id += " with local changes"
	}
	return id
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

const outputTimeout = time.Minute

func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), outputTimeout)
	defer cancel()
	b, err := testprocess.Command(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func orUnknown(s string) string {
	if s == "" {
		return unknown
	}
	return s
}
