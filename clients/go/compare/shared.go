package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	stint "github.com/stintdb/stint/clients/go"
)

// Eight processes share a limit. Each alone would use all of it. One of them is killed half-way.
const (
	processes      = 8
	sharedRate     = 1000 // tokens a second, and at once
	workerVariable = "STINT_COMPARE_WORKER"
	callersEach    = 4
	pauseUpTo      = 8 * time.Millisecond // between two calls of one of them: about a thousand calls a second of each process
)

// A tally counts tokens in a file that is mapped into the memory of the counting and the reading process, so that no
// count is lost when the former is killed.
type tally struct{ n *int64 }

func openTally(path string) (tally, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return tally{}, err
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, 0), 0); err != nil {
		return tally{}, err
	}
	bytes, err := syscall.Mmap(int(f.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return tally{}, err
	}
	return tally{(*int64)(unsafe.Pointer(&bytes[0]))}, nil
}

// order says what one of the processes does. It gets it as JSON in workerVariable.
type order struct {
	Contender    string
	Stint, Redis string // addresses
	Tally        string // path
	Begin        time.Time
	Length       time.Duration
}

// excesses measures each contender with shared processes and prints the number of calls let through.
func excesses(length time.Duration) error {
	at, stop, err := startServers()
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("| 8 processes share %d a second for %v, one is killed half-way | the limit allows | let through | beyond the limit |\n|---|---|---|---|\n", sharedRate, length)
	for _, name := range []string{inProcess, inProcessShare, onRedis, asked, leased} {
		got, span, err := share(name, at, length)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		allowed := sharedRate + sharedRate*span.Seconds()
		beyond := "none"
		if excess := float64(got) - allowed; excess > 0 {
			beyond = fmt.Sprintf("%.0f (%.0f %%)", excess, 100*excess/allowed)
		}
		fmt.Printf("| %s | %.0f | %d | %s |\n", name, allowed, got, beyond)
	}
	fmt.Println()
	return nil
}

// share runs the processes. It returns the number of calls they let through in all, and the span from before the first
// could ask to after the last has ended.
func share(name string, at servers, length time.Duration) (got int64, span time.Duration, err error) {
	folder, err := os.MkdirTemp("", "compare")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(folder)
	program, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now().Add(300 * time.Millisecond) // all have started by then
	var tallies []tally
	var workers []*exec.Cmd
	for i := range processes {
		path := filepath.Join(folder, fmt.Sprint(i))
		t, err := openTally(path)
		if err != nil {
			return 0, 0, err
		}
		text, err := json.Marshal(order{name, at.stint, at.redis, path, begin, length})
		if err != nil {
			return 0, 0, err
		}
		worker := exec.Command(program)
		worker.Env = append(os.Environ(), workerVariable+"="+string(text))
		worker.Stderr = os.Stderr
		worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := worker.Start(); err != nil {
			return 0, 0, err
		}
		tallies, workers = append(tallies, t), append(workers, worker)
	}
	time.Sleep(time.Until(begin.Add(length / 2)))
	if err := workers[0].Process.Kill(); err != nil {
		return 0, 0, err
	}
	for i, worker := range workers {
		if err := worker.Wait(); err != nil && i != 0 {
			return 0, 0, fmt.Errorf("process %d: %w", i, err)
		}
	}
	span = time.Since(begin)
	for i, t := range tallies {
		n := atomic.LoadInt64(t.n)
		if n == 0 {
			return 0, 0, fmt.Errorf("process %d let nothing through", i)
		}
		got += n
	}
	return got, span, nil
}

// work is the main function of each process.
func work() {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(workerVariable)), &o); err != nil {
		fail(err)
	}
	counted, err := openTally(o.Tally)
	if err != nil {
		fail(err)
	}
	c := start(o.Contender, servers{o.Stint, o.Redis}, sharedRate, stint.Timeout(time.Second))
	end := o.Begin.Add(o.Length)
	time.Sleep(time.Until(o.Begin))
	var all sync.WaitGroup
	for range callersEach {
		all.Go(func() {
			for time.Now().Before(end) {
				allowed, err := c.allow(context.Background(), "shared by "+o.Contender)
				if err != nil {
					fail(err)
				}
				if allowed {
					atomic.AddInt64(counted.n, 1)
				}
				time.Sleep(rand.N(pauseUpTo))
			}
		})
	}
	all.Wait()
	c.close()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "compare:", err)
	os.Exit(1)
}
