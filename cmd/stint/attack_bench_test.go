//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// asFloor makes this test's program a server that does nothing: the wait of a good client under an attack on it is the
// machine's share, and that of Go's scheduler.
const asFloor = "STINT_TEST_AS_FLOOR"

// beFloor answers PING, and ECHO with its argument. It drops a line that is too long.
func beFloor() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("ready: accepting connections on " + ln.Addr().String())
	for {
		conn, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer conn.Close()
			for in := bufio.NewReader(conn); ; {
				line, err := in.ReadSlice('\n')
				switch {
				case err != nil && !errors.Is(err, bufio.ErrBufferFull):
					return
				case bytes.HasPrefix(line, []byte("PING")):
					_, err = conn.Write([]byte("+PONG\r\n"))
				case bytes.HasPrefix(line, []byte("ECHO")):
					_, err = conn.Write(line)
				}
				if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
					return
				}
			}
		}()
	}
}

// startRedis starts a Redis, with the same bounds as Stint.
func startRedis(b testing.TB, args ...string) *target {
	b.Helper()
	return startLikeRedis(b, "redis-server", "install Redis 7.0 (Debian: redis-server)", args...)
}

// startLikeRedis starts a program with the options of Redis.
func startLikeRedis(b testing.TB, program, install string, args ...string) *target {
	b.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			b.Fatalf("%s is missing: %s", program, install)
		}
		b.Skipf("%s is missing: %s", program, install)
	}
	p := testserver.StartLikeRedis(b, program, args...)
	return &target{&victim{p, b, p.Address}}
}

// cpu is the processor time that the server has taken.
func (a *target) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.Pid()))
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkUnderAttack compares a good client's wait for a PING under attacks of full size with its wait on a server
// that does nothing and on Redis, in turns. It reports medians of the rounds, the upper one of two: of the 99th
// percentile without and under attack, of the ratio of the two, and of the number of processors that the server kept
// busy. Run it with -benchtime 3x -attack-scale 10, as root with -attack-nice.
func BenchmarkUnderAttack(b *testing.B) {
	n := 1000 * *attackScale
	wantFiles(b, uint64(n+1000))
	many := strconv.Itoa(n + 100)
	for _, attack := range []struct {
		name         string
		do           attack
		stint, redis []string
	}{
		{"slowloris", slowloris(n), []string{"--max-clients", many, "--max-clients-per-address", many}, []string{"--maxclients", many}},
		{"deaf", deafClients(n / 10), []string{"--client-memory", "32mb"}, []string{"--maxmemory-clients", "32mb"}},
		{"lengths", hugeLengths, nil, nil},
		{"reconnects", reconnects(n / 2), nil, nil},
	} {
		b.Run(attack.name, func(b *testing.B) {
			of := map[string][]float64{}
			for range b.N {
				for _, server := range []struct {
					name  string
					start func() *target
				}{
					{"stint", func() *target { return startTarget(b, attack.stint...) }},
					{"nothing", func() *target { return launch(b, asFloor) }},
					{"redis", func() *target { return startRedis(b, attack.redis...) }},
				} {
					a := server.start()
					g := a.good("", asksPing+"=1")
					before, start := a.cpu(), time.Now()
					quiet, loud := a.compare(g, attack.do, func() {})
					busy := a.cpu() - before
					for metric, value := range map[string]float64{
						"-quiet-p99-µs": float64(quiet.p99.Microseconds()), "-p99-µs": float64(loud.p99.Microseconds()),
						"-p99-x": float64(loud.p99) / float64(quiet.p99), "-cores": busy.Seconds() / time.Since(start).Seconds(),
					} {
						of[server.name+metric] = append(of[server.name+metric], value)
					}
					g.end()
					a.end(syscall.SIGKILL)
				}
			}
			for metric, values := range of {
				slices.Sort(values)
				b.ReportMetric(values[len(values)/2], metric)
			}
		})
	}
}
