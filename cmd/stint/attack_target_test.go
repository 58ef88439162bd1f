//go:build e2e

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// target is a server under attack.
type target struct{ *victim }

func startTarget(t testing.TB, args ...string) *target {
	return launch(t, asServer, append([]string{"server", "--listen", "127.0.0.1:0", "--admin="}, args...)...)
}

// launch runs this test's program in another role, and waits until it reports that it accepts connections.
func launch(t testing.TB, as string, args ...string) *target {
	t.Helper()
	p := testserver.NewProcess(t, os.Args[0], args...)
	p.Env = append(os.Environ(), as+"=1")
	p.Start(t)
	return &target{&victim{p, t, p.AwaitReady(t)[0]}}
}

// resident is the server's resident memory in bytes.
func (a *target) resident() int64 { return a.memory("VmRSS") }

// room is the memory for keys and for the program's own pages. The system reads a page when it is first used, and then
// keys have that much less. A test's first look may come before many pages or few have been read, so it adds them.
func (a *target) room() int64 { return a.info("keys_memory_limit") + a.memory("RssFile") }

// memory is a size in bytes from the server's /proc/PID/status.
func (a *target) memory(field string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Pid()))
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\n"+field+":")
	var kB int64
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		a.t.Fatal(field, err)
	}
	return kB << 10
}

func (a *target) dial() net.Conn {
	conn, err := net.Dial("tcp", a.address)
	if err != nil {
		a.t.Error(err)
		return nil
	}
	return conn
}

// info is a number from INFO.
func (a *target) info(name string) int64 {
	conn := a.dial()
	defer conn.Close()
	_, _ = conn.Write([]byte("AUTH tea\r\nINFO everything\r\nQUIT\r\n"))
	text, _ := io.ReadAll(conn)
	_, rest, _ := strings.Cut(string(text), "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		a.t.Errorf("INFO says %s:%q", name, value)
	}
	return n
}

// stepBack lowers the priority of this process, the attackers, because real ones would be on other machines. It must
// come after the start of the server and the good client, which would inherit it.
func stepBack(t testing.TB) (forward func()) {
	if !*attackNice {
		return func() {}
	}
	renice := func(n int) {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			id, _ := strconv.Atoi(task.Name())
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	renice(19)
	return func() { renice(0) }
}

// during runs an attack until the good client has asked often enough, and logs its latencies. The server's memory was
// base before, and is to stay below a limit.
func (a *target) during(g *good, do attack, base, limit int64) {
	a.t.Helper()
	var resident, buffers int64
	quiet, loud := a.compare(g, do, func() {
		resident, buffers = max(resident, a.resident()), max(buffers, a.info("mem_clients_normal"))
	})
	g.check()
	a.t.Logf("%v without, %v under attack (p99 %.1f times); at most %d MB resident, %.1f MB of them in buffers of clients", quiet, loud, float64(loud.p99)/float64(quiet.p99),
		resident>>20, float64(buffers)/(1<<20))
	if buffers > limit-base {
		a.t.Errorf("%d MB in buffers of clients, want at most %d", buffers>>20, (limit-base)>>20)
	}
	if isFullSize() && resident > limit {
		a.t.Errorf("%d MB resident, want at most %d", resident>>20, limit>>20)
	}
}

// compare returns the good client's latencies without and under an attack, in which it samples now and then.
func (a *target) compare(g *good, do attack, sample func()) (quiet, loud latencies) {
	a.t.Helper()
	n := 1500 + 500**attackScale // at full size for some seconds, in which buffers fill up and bounds are reached
	quiet = g.ask(n)
	defer stepBack(a.t)()
	ctx, cancel := context.WithCancel(context.Background())
	var attackers, watch sync.WaitGroup
	begun := make(chan struct{})
	attackers.Go(func() { do(a, ctx, sync.OnceFunc(func() { close(begun) })) })
	<-begun
	watch.Go(func() {
		for ctx.Err() == nil {
			sample()
			time.Sleep(10 * time.Millisecond)
		}
	})
	loud = g.ask(n)
	cancel()
	attackers.Wait()
	watch.Wait()
	return quiet, loud
}

// wantFiles raises the bound on open files for this process and those it starts.
func wantFiles(t testing.TB, need uint64) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < need {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: need, Max: max(limit.Max, need)}); err != nil {
			t.Fatalf("this machine allows %d open files, and %d are needed: %v", limit.Max, need, err)
		}
	}
}
