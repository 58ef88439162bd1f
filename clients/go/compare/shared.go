package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
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
	"github.com/stintdb/stint/clients/go/internal/child"
)

// Eight processes share a limit. Each alone would use all of it. One of them is killed half-way.
const (
	processes      = 8
	sharedRate     = 1000 // tokens a second, and at once
	workerVariable = "STINT_COMPARE_WORKER"
	callersEach    = 4
	patience       = time.Minute          // bounds waits, also on a machine that is busy
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

// order says what one of the processes does, until its standard input ends. It gets it as JSON in workerVariable.
type order struct {
	Contender    string
	Stint, Redis string // addresses
	Tally        string // path
	Seed         uint64
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
		got, span, err := share(name, at, length, nil)
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

// A fleet is the processes that share a limit.
type fleet struct {
	folder  string
	workers []*exec.Cmd
	inputs  []io.Closer
	tallies []tally
}

// share runs the processes for some time, and longer until all have let something through and together as much as enough
// says for the time that has passed. It returns the number of calls they let through in all, and the span from before the
// first could ask to after the last has ended.
func share(name string, at servers, length time.Duration, enough func(span time.Duration) int64) (got int64, span time.Duration, err error) {
	f := &fleet{}
	if f.folder, err = os.MkdirTemp("", "compare"); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(f.folder)
	defer f.kill()
	begin := time.Now()
	for i := range processes {
		if err := f.start(order{Contender: name, Stint: at.stint, Redis: at.redis, Seed: uint64(i)}); err != nil {
			return 0, 0, err
		}
	}
	if err := f.await(begin, length/2, nil); err != nil {
		return 0, 0, err
	}
	if err := f.workers[0].Process.Kill(); err != nil {
		return 0, 0, err
	}
	if err := f.await(begin, length, enough); err != nil {
		return 0, 0, err
	}
	if err := f.end(); err != nil {
		return 0, 0, err
	}
	got, _ = f.sum()
	return got, time.Since(begin), nil
}

// start starts one process more.
func (f *fleet) start(o order) error {
	o.Tally = filepath.Join(f.folder, fmt.Sprint(len(f.workers)))
	t, err := openTally(o.Tally)
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	worker := exec.Command(program)
	worker.Env = append(os.Environ(), workerVariable+"="+string(text))
	worker.Stderr = os.Stderr
	child.EndWithParent(worker)
	input, err := worker.StdinPipe()
	if err != nil {
		return err
	}
	if err := worker.Start(); err != nil {
		return err
	}
	f.workers, f.inputs, f.tallies = append(f.workers, worker), append(f.inputs, input), append(f.tallies, t)
	return nil
}

// sum is the number of calls that all let through, and that of the process with the fewest.
func (f *fleet) sum() (got, least int64) {
	least = math.MaxInt64
	for _, t := range f.tallies {
		n := atomic.LoadInt64(t.n)
		got, least = got+n, min(least, n)
	}
	return got, least
}

// await waits until some time has passed, all processes have let something through, and together they have let through enough.
func (f *fleet) await(begin time.Time, length time.Duration, enough func(span time.Duration) int64) error {
	for ; ; time.Sleep(5 * time.Millisecond) {
		span := time.Since(begin)
		got, least := f.sum()
		if span >= length && least > 0 && (enough == nil || got >= enough(span)) {
			return nil
		}
		if span > length+patience {
			return fmt.Errorf("the processes let %d through in %v, and one of them %d", got, span, least)
		}
	}
}

// end lets the processes complete their calls, and waits for all of them. The first was killed.
func (f *fleet) end() error {
	for _, input := range f.inputs {
		_ = input.Close()
	}
	late := time.AfterFunc(patience, f.kill)
	defer late.Stop()
	for i, worker := range f.workers {
		if err := worker.Wait(); err != nil && i != 0 {
			return fmt.Errorf("process %d: %w", i, err)
		}
	}
	return nil
}

func (f *fleet) kill() {
	for _, worker := range f.workers {
		_ = worker.Process.Kill()
	}
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
	c := start(o.Contender, servers{o.Stint, o.Redis}, sharedRate, stint.Timeout(patience))
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	var all sync.WaitGroup
	for caller := range callersEach {
		random := rand.New(rand.NewPCG(o.Seed, uint64(caller)))
		all.Go(func() {
			for !over.Load() {
				allowed, err := c.allow(context.Background(), "shared by "+o.Contender)
				if err != nil {
					fail(err)
				}
				if allowed {
					atomic.AddInt64(counted.n, 1)
				}
				time.Sleep(time.Duration(random.Int64N(int64(pauseUpTo))))
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
