//go:build e2e

package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
)

var (
	crashes   = flag.Int("crashes", 20, "times a server is killed in each mode; 200 every night")
	crashSeed = flag.Uint64("crash-seed", testsize.Seed(), "seed of the crash test")
)

// asServer makes this test's program run as a server.
const asServer = "STINT_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	readTestClock()
	if os.Getenv(asServer) != "" {
		os.Unsetenv(asServer)
		os.Setenv("GODEBUG", "schedtrace=0,"+os.Getenv("GODEBUG")) // a node that starts its program again would start the tests
		main()
	}
	if os.Getenv(asFloor) != "" {
		beFloor()
		return
	}
	if words := strings.Fields(os.Getenv(asBystander)); len(words) == 3 {
		seed, _ := strconv.ParseUint(words[2], 10, 64)
		beBystander(words[0], words[1], seed)
		return
	}
	if address, login, found := strings.Cut(os.Getenv(asGood), " "); found {
		beGood(address, login)
		return
	}
	os.Exit(m.Run())
}

// victim is a server in a separate process, to be killed.
type victim struct {
	*testserver.Process
	t       testing.TB
	address string
}

// wantRefusal starts a server that should refuse to, with an error that contains a text. A server that starts is ended.
func wantRefusal(t *testing.T, want, program string, args ...string) {
	t.Helper()
	p := testserver.Run(t, program, append([]string{"server", "--listen", "127.0.0.1:0", "--admin", ""}, args...)...)
	p.Await(t, "refused to start", func() bool {
		is, _ := p.Running()
		return !is
	})
	if _, state := p.Running(); state.Success() || !strings.Contains(p.Output(), want) {
		t.Errorf("%v: %s: want %q", state, p.Output(), want)
	}
}

// startVictim starts a server on a free port and a directory, and waits until it serves.
func startVictim(t *testing.T, dir, mode string, args ...string) *victim {
	t.Helper()
	return launch(t, asServer, append([]string{"server", "--listen", "127.0.0.1:0",
		"--dir", dir, "--durability", mode, "--journal-size", "1mb"}, args...)...).victim
}

func (v *victim) end(s syscall.Signal) {
	v.t.Helper()
	if err := v.End(s); err != nil {
		v.t.Error(err)
	}
}

// wire is a connection that sends commands and reads replies.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func dialVictim(v *victim) (*wire, error) {
	c, err := net.Dial("tcp", v.address)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReader(c)}, nil
}

// ask sends a command line and returns the reply: its integers, or the first line of anything else.
func (w *wire) ask(line string) (ints []int64, text string, err error) {
	if _, err := io.WriteString(w, line+"\r\n"); err != nil {
		return nil, "", err
	}
	read := func() string {
		s, e := w.in.ReadString('\n')
		if e != nil {
			err = e
		}
		return strings.TrimSpace(s)
	}
	text = read()
	if err != nil || !strings.HasPrefix(text, "*") {
		return nil, text, err
	}
	count, _ := strconv.Atoi(text[1:])
	for range count {
		n, _ := strconv.ParseInt(strings.TrimPrefix(read(), ":"), 10, 64)
		ints = append(ints, n)
	}
	return ints, text, err
}

const (
	crashKeys    = 200
	crashClients = 8
	capacity     = 800_000 // at a token an hour the refill is too small to show
)

// ledger records the tokens granted to clients of each key.
type ledger struct {
	granted  [crashKeys]atomic.Int64
	saved    [crashKeys]int64 // a lower bound of the grants at the last moment that the server reported as durable
	answered atomic.Int64     // grants since the last kill
}

// load takes tokens from clients until the server is gone.
func (l *ledger) load(v *victim, seed uint64) (wait func()) {
	var clients sync.WaitGroup
	for i := range crashClients {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			w, err := dialVictim(v)
			if err != nil {
				return
			}
			defer w.Close()
			for {
				key := r.IntN(crashKeys)
				got, text, err := w.ask(takeFrom(key))
				if err != nil {
					return
				}
				if len(got) == 5 && got[0] == 1 || isCounter(key) && strings.HasPrefix(text, ":") {
					l.granted[key].Add(1)
					l.answered.Add(1)
				}
			}
		})
	}
	return clients.Wait
}

// isCounter reports whether a key is a counter in the data of Redis, and else a token bucket.
func isCounter(key int) bool { return key%2 == 1 }

// takeFrom is the command that takes a token from a key.
func takeFrom(key int) string {
	if isCounter(key) {
		return fmt.Sprintf("INCR k%d", key)
	}
	return fmt.Sprintf("TB.ACQUIRE k%d %d 1/h", key, capacity)
}

// taken reads the usage of every key from the server, without taking tokens.
func taken(t *testing.T, v *victim) (all [crashKeys]int64) {
	t.Helper()
	w, err := dialVictim(v)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for key := range all {
		if isCounter(key) {
			_, text, err := w.ask(fmt.Sprintf("INCRBY k%d 0", key))
			if all[key], _ = strconv.ParseInt(strings.TrimPrefix(text, ":"), 10, 64); err != nil || !strings.HasPrefix(text, ":") {
				t.Fatalf("INCRBY: %q, %v", text, err)
			}
			continue
		}
		got, text, err := w.ask(takeFrom(key) + " PEEK")
		if err != nil || len(got) != 5 {
			t.Fatalf("PEEK: %q, %v", text, err)
		}
		all[key] = capacity - got[2] - 1 // a PEEK answers as if it had taken the token
	}
	return all
}

// A server that is killed at any moment gives back no granted tokens, except as many as its mode may lose: in the mode
// interval those since the last flush that the server has reported, in the mode snapshot those since the last snapshot.
func TestKilledServerGivesNothingBack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, mode := range []string{"always", "interval", "snapshot"} {
		t.Run(mode, func(t *testing.T) {
			seed := *crashSeed
			t.Logf("seed: -crash-seed %d", seed)
			dir, r, l := t.TempDir(), rand.New(rand.NewPCG(seed, 0)), &ledger{}
			v := startVictim(t, dir, mode)
			rounds, granted := 0, int64(0)
			for ; rounds < *crashes; rounds++ {
				wait := l.load(v, r.Uint64())
				l.workUntil(t, v, r, mode)
				v.end(syscall.SIGKILL)
				wait()
				v = startVictim(t, dir, mode)
				granted += l.check(t, taken(t, v), mode)
				if t.Failed() {
					t.Fatalf("after %d kills; seed %d; the server said: %s", rounds+1, seed, v.LastLines())
				}
			}
			t.Logf("%d kills, %d tokens granted", rounds, granted)
			if rounds < 3 || granted < int64(rounds)*20 {
				t.Errorf("%d kills and %d tokens granted are too little to show anything", rounds, granted)
			}
		})
	}
}

// awaitWork waits until clients have been granted some more tokens.
func (l *ledger) awaitWork(t *testing.T, more int) {
	t.Helper()
	before := l.answered.Load()
	testwait.Until(t, "clients are granted more", func() bool { return l.answered.Load() >= before+int64(more) })
}

// workUntil lets clients work for a random while, saving in between.
func (l *ledger) workUntil(t *testing.T, v *victim, r *rand.Rand, mode string) {
	w, err := dialVictim(v)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, more := range []int{r.IntN(1000), r.IntN(1000)} {
		l.awaitWork(t, 100+more)
		before := l.sofar()
		if mode == "interval" {
			awaitFlush(t, w)
			l.saved = before
		}
		if r.IntN(4) > 0 && mode != "snapshot" {
			continue
		}
		before = l.sofar()
		if _, text, err := w.ask("SAVE"); err != nil || !strings.HasPrefix(text, "+OK") {
			t.Fatalf("SAVE: %q, %v", text, err)
		}
		l.saved = before
	}
	l.awaitWork(t, r.IntN(500))
}

// sofar is the number of tokens of each key granted until now.
func (l *ledger) sofar() (all [crashKeys]int64) {
	for i := range all {
		all[i] = l.granted[i].Load()
	}
	return all
}

// awaitFlush returns once the server reports that all decisions before the call have reached the kernel.
func awaitFlush(t *testing.T, w *wire) {
	t.Helper()
	now, _ := w.clocks(t)
	testwait.Until(t, "the journal is flushed", func() bool {
		_, flushed := w.clocks(t)
		return flushed > now
	})
}

// clocks reads the server's time, and the time until which its decisions have been flushed.
func (w *wire) clocks(t *testing.T) (now, flushed int64) {
	t.Helper()
	_, head, err := w.ask("INFO server persistence")
	size, _ := strconv.Atoi(strings.TrimPrefix(head, "$"))
	text := make([]byte, size+2)
	if _, e := io.ReadFull(w.in, text); err != nil || e != nil {
		t.Fatal(err, e)
	}
	for _, line := range strings.Split(string(text), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "server_time_usec":
			now, _ = strconv.ParseInt(value, 10, 64)
		case "journal_flushed_until_usec":
			flushed, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return now, flushed
}

// check compares the usage after a kill with the grants, and continues from it.
func (l *ledger) check(t *testing.T, found [crashKeys]int64, mode string) (granted int64) {
	granted = l.answered.Swap(0)
	for key := range found {
		n := l.granted[key].Load()
		least := l.saved[key]
		if mode == "always" {
			least = n
		}
		if found[key] < least {
			t.Errorf("k%d: %d tokens were granted, %d of them kept for certain, and %d are taken", key, n, least, found[key])
		}
		if found[key] > n+crashClients {
			t.Errorf("k%d: %d tokens were granted and %d are taken", key, n, found[key])
		}
		l.granted[key].Store(found[key]) // the unanswered ones are taken too
		l.saved[key] = min(l.saved[key], found[key])
	}
	return granted
}

// A server that is stopped by a signal loses no state, in any mode.
func TestStoppedServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, mode := range []string{"always", "interval", "snapshot"} {
		dir, l := t.TempDir(), &ledger{}
		v := startVictim(t, dir, mode)
		wait := l.load(v, 1)
		l.awaitWork(t, 200)
		v.end(syscall.SIGTERM)
		wait()
		if _, state := v.Running(); state.ExitCode() != exitOK {
			t.Errorf("%s: %v: %s", mode, state, v.LastLines())
		}
		v = startVictim(t, dir, mode)
		for key, n := range taken(t, v) {
			if granted := l.granted[key].Load(); n < granted {
				t.Errorf("%s: k%d: %d tokens were granted, %d are taken", mode, key, granted, n)
			}
		}
		v.end(syscall.SIGKILL)
	}
}

// A directory belongs to one server at a time.
func TestSecondServerIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	startVictim(t, dir, "interval")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stderr strings.Builder
	p := &process{readFile: fstest.MapFS{}.ReadFile, stdout: io.Discard, stderr: &stderr}
	code := p.run(ctx, []string{"server", "--listen", "127.0.0.1:0", "--admin", "", "--dir", dir})
	want := "stint: another Stint keeps its state in " + dir + "; stop it or choose another directory with --dir\n"
	if code != exitFailed || stderr.String() != want {
		t.Errorf("exit %d, %q, want %q", code, stderr.String(), want)
	}
}
