package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Attacks on a server in a process of its own, while a client that means well goes on asking. Here they are small and
// quick, and what is asserted is answers and memory; -attack-scale 10 makes them as large as docs/security.md has them,
// whose latencies are logged here.
var (
	attackScale = flag.Int("attack-scale", 1, "how large attacks are; at 10 as large as in docs/security.md")
	attackNice  = flag.Bool("attack-nice", false, "have the attackers take the processor only when others leave it some; needs root")
	floodRate   = flag.Int("flood-rate", 0, "keys a second of the flood; 0 is as many as the machine can")
)

// target is a server under attack.
type target struct {
	*victim
	t *testing.T
}

func startTarget(t *testing.T, args ...string) *target {
	t.Helper()
	v := &victim{said: &bytes.Buffer{}}
	v.cmd = exec.Command(os.Args[0], append([]string{"server", "--listen", "127.0.0.1:0", "--admin="}, args...)...)
	v.cmd.Env, v.cmd.Stderr = append(os.Environ(), asServer+"=1"), v.said
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.end(syscall.SIGKILL) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, address, ready := strings.Cut(lines.Text(), "ready: accepting connections on "); ready {
			v.address = strings.Split(address, ", ")[0]
			go io.Copy(io.Discard, out)
			return &target{v, t}
		}
	}
	_ = v.cmd.Wait()
	t.Fatalf("the server did not start: %s", v.said)
	return nil
}

// resident is the server's resident memory in bytes.
func (a *target) resident() int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.cmd.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	return pages * int64(os.Getpagesize())
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

const (
	goodKeys  = 1000
	goodLimit = 5
)

// good is a client that means well, in a process of its own: it asks for goodKeys keys in turn, far more often than their
// limit allows.
type good struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Writer
	said *bufio.Scanner
}

func (a *target) good(login string) *good {
	g := &good{t: a.t, cmd: exec.Command(os.Args[0])}
	g.cmd.Env, g.cmd.Stderr = append(os.Environ(), asGood+"="+a.address+" "+login), os.Stderr
	in, err := g.cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	g.in, g.said = in, bufio.NewScanner(out)
	a.t.Cleanup(func() {
		in.Close()
		_ = g.cmd.Wait()
	})
	return g
}

// ask asks n times and returns the median and the 99th percentile of the latencies.
func (g *good) ask(n int) (l latencies) {
	g.t.Helper()
	fmt.Fprintln(g.in, n)
	g.said.Scan()
	if _, err := fmt.Sscan(g.said.Text(), &l.median, &l.p99); err != nil {
		g.t.Fatalf("the good client says %q", g.said.Text())
	}
	return l
}

// check holds the server to have granted each key its limit, no more and no less.
func (g *good) check() {
	g.t.Helper()
	fmt.Fprintln(g.in, 0)
	if g.said.Scan(); g.said.Text() != "exact" {
		g.t.Errorf("the good client says %q", g.said.Text())
	}
}

type latencies struct{ median, p99 time.Duration }

func (l latencies) String() string { return fmt.Sprintf("p50 %v p99 %v", l.median, l.p99) }

// asGood has this test's own program be the good client of the server at an address, and a line to log in by.
const asGood = "STINT_TEST_AS_GOOD"

func beGood(address, login string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	read, line := bufio.NewReader(conn), ""
	next := func() string {
		if line, err = read.ReadString('\n'); err != nil {
			panic(err)
		}
		return line
	}
	if login != "" {
		if fmt.Fprintf(conn, "%s\r\n", login); next() != "+OK\r\n" {
			panic(line)
		}
	}
	var asked, granted [goodKeys]int64
	at := 0
	var n int
	for {
		if _, err := fmt.Scanln(&n); err != nil {
			return
		}
		if n == 0 {
			verdict := "exact"
			for key := range goodKeys {
				if want := min(asked[key], goodLimit); granted[key] != want {
					verdict = fmt.Sprintf("good:%d was granted %d times of %d, want %d", key, granted[key], asked[key], want)
				}
			}
			fmt.Println(verdict)
			continue
		}
		took := make([]time.Duration, n)
		for i := range took {
			key := at % goodKeys
			at++
			start := time.Now()
			fmt.Fprintf(conn, "TB.ACQUIRE good:%d %d 1/365d\r\n", key, goodLimit)
			if next() != "*5\r\n" {
				panic(line)
			}
			asked[key]++
			if next() == ":1\r\n" {
				granted[key]++
			}
			for range 4 {
				next()
			}
			took[i] = time.Since(start)
			time.Sleep(200 * time.Microsecond)
		}
		slices.Sort(took)
		fmt.Println(int64(took[n/2]), int64(took[n*99/100]))
	}
}

// stepBack has this process, which is the attackers, take the processor only when others leave it some: they would be on
// other machines. It must come after the server and the good client were started, who would inherit it.
func stepBack(t *testing.T) {
	if !*attackNice {
		return
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
	t.Cleanup(func() { renice(0) })
}

// during runs an attack until the good client has asked n times, and returns the most memory the server took, and logs
// what the attack did to the good client's latencies.
func (a *target) during(g *good, n int, attack func(ctx context.Context, underWay func())) (most int64) {
	a.t.Helper()
	quiet := g.ask(n)
	stepBack(a.t)
	ctx, cancel := context.WithCancel(context.Background())
	var attackers, watch sync.WaitGroup
	begun := make(chan struct{})
	attackers.Go(func() { attack(ctx, sync.OnceFunc(func() { close(begun) })) })
	<-begun
	watch.Go(func() {
		for ctx.Err() == nil {
			most = max(most, a.resident())
			time.Sleep(10 * time.Millisecond)
		}
	})
	loud := g.ask(n)
	cancel()
	attackers.Wait()
	watch.Wait()
	g.check()
	a.t.Logf("%v without, %v under attack (p99 %.1f times); at most %d MB resident", quiet, loud, float64(loud.p99)/float64(quiet.p99), most>>20)
	return most
}

// A flood of distinct keys, far more than there is room for: memory stays as it is once it is full, and the keys that were
// there are limited exactly all the while. It is full long before half of the keys were sent, as more than half of them find
// no room; until then it goes up and down, since a shard that grows is there twice for a moment.
func TestFloodOfKeys(t *testing.T) {
	keys, memory := 10_000_000*(*attackScale), int64(100<<20)*int64(*attackScale)
	a := startTarget(t, "--max-memory", strconv.FormatInt(memory, 10), "--prefix-delimiters", ":")
	g := a.good("")
	var sent atomic.Int64
	var most, lowest, highest int64 // of all the time, and of the second half of the keys
	var began time.Time
	done := make(chan struct{})
	flood := func(thread int) {
		conn := a.dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		var out []byte
		for sent.Load() < int64(keys) {
			first := sent.Add(1000) - 1000
			out = out[:0]
			for i := range int64(1000) {
				out = fmt.Appendf(out, "*4\r\n$10\r\nTB.ACQUIRE\r\n$16\r\nip:%013d\r\n$2\r\n10\r\n$3\r\n1/h\r\n", first+i)
			}
			if _, err := conn.Write(out); err != nil {
				t.Error(err)
				return
			}
			if *floodRate > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(first) * time.Second / time.Duration(*floodRate))))
			}
		}
	}
	quiet := g.ask(5000)
	stepBack(t)
	began = time.Now()
	var floods sync.WaitGroup
	for thread := range 2 {
		floods.Go(func() { flood(thread) })
	}
	go func() {
		defer close(done)
		for sent.Load() < int64(keys) {
			rss := a.resident()
			most = max(most, rss)
			if sent.Load() > int64(keys)/2 {
				lowest, highest = min(cmp.Or(lowest, rss), rss), max(highest, rss)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	loud := g.ask(5000)
	floods.Wait()
	took := time.Since(began)
	<-done
	g.check()
	if most > memory {
		t.Errorf("%d MB resident, and --max-memory is %d MB", most>>20, memory>>20)
	}
	if highest-lowest > highest/20 || lowest == 0 {
		t.Errorf("%d to %d MB resident in the second half: that is not flat within 5 %%", lowest>>20, highest>>20)
	}
	shared, denied := a.info("new_keys_shared_limiter"), a.info("new_keys_shared_limiter_denied")
	if shared < int64(keys)/2 {
		t.Errorf("%d of %d keys were beyond the memory", shared, keys)
	}
	if granted := shared - denied; granted < 10 || granted > 12 {
		t.Errorf("the keys that shared a limiter of 10 were granted %d", granted)
	}
	t.Logf("%d keys through %d MB: %.1f to %.1f MB resident in the second half, %.1f MB at most; %d keys kept", keys, memory>>20,
		float64(lowest)/(1<<20), float64(highest)/(1<<20), float64(most)/(1<<20), int64(keys)-shared)
	t.Logf("%v without, %v under the flood of %.0f keys a second (p99 %.1f times)", quiet, loud, float64(keys)/took.Seconds(), float64(loud.p99)/float64(quiet.p99))
}

// wantFiles raises the bound on open files for this process and those it starts.
func wantFiles(t *testing.T, need uint64) {
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

// hold opens connections and has each do something over and over until ctx is done.
func (a *target) hold(ctx context.Context, n int, underWay func(), pause time.Duration, each func(conn net.Conn, round int) bool) {
	var all, dialing sync.WaitGroup
	var opened atomic.Int64
	few := make(chan struct{}, 64)
	for range n {
		few <- struct{}{}
		dialing.Go(func() {
			defer func() { <-few }()
			conn, err := net.Dial("tcp", a.address)
			if err != nil {
				return // refused for their number
			}
			opened.Add(1)
			all.Go(func() {
				defer conn.Close()
				for round := 0; ctx.Err() == nil && each(conn, round); round++ {
					select {
					case <-ctx.Done():
					case <-time.After(pause):
					}
				}
			})
		})
	}
	dialing.Wait()
	if opened.Load() < int64(n) {
		a.t.Errorf("only %d of %d connections were opened", opened.Load(), n)
	}
	underWay()
	<-ctx.Done()
	all.Wait()
}

// flat is what connections may take in all of the attacks below: a bound on memory that is far below what they try to
// make the server keep.
func flat(base, connections int64) int64 { return base + connections*24<<10 + 48<<20 }

// Connections that never finish a command, one byte at a time.
func TestSlowloris(t *testing.T) {
	for name, login := range map[string]string{"logged in": "", "not logged in": "AUTH tea"} {
		t.Run(name, func(t *testing.T) {
			n := 1000 * *attackScale
			wantFiles(t, uint64(n+1000))
			args := []string{"--max-clients", strconv.Itoa(n + 100), "--max-clients-per-address", strconv.Itoa(n + 100)}
			if login != "" {
				args = append(args, "--requirepass", "tea")
			}
			a := startTarget(t, args...)
			g, base := a.good(login), a.resident()
			command := []byte("*4\r\n$10\r\nTB.ACQUIRE\r\n$16000\r\n" + strings.Repeat("x", 16_000))
			most := a.during(g, 2000, func(ctx context.Context, underWay func()) {
				a.hold(ctx, n, underWay, time.Second, func(conn net.Conn, round int) bool {
					_, err := conn.Write(command[round%len(command) : round%len(command)+1])
					return err == nil
				})
			})
			if limit := flat(base, int64(n)); most > limit {
				t.Errorf("%d MB resident, want at most %d", most>>20, limit>>20)
			}
		})
	}
}

// Clients that send commands without end and read nothing of the answers.
func TestDeafClients(t *testing.T) {
	for name, login := range map[string]string{"logged in": "", "not logged in": "AUTH tea"} {
		t.Run(name, func(t *testing.T) {
			n := 100 * *attackScale
			args := []string{"--client-memory", "32mb"}
			if login != "" {
				args = append(args, "--requirepass", "tea")
			}
			a := startTarget(t, args...)
			g, base := a.good(login), a.resident()
			commands := bytes.Repeat([]byte("ECHO "+strings.Repeat("x", 1000)+"\r\n"), 50)
			most := a.during(g, 2000, func(ctx context.Context, underWay func()) {
				a.hold(ctx, n, underWay, 100*time.Millisecond, func(conn net.Conn, _ int) bool {
					_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
					_, err := conn.Write(commands)
					return err == nil || os.IsTimeout(err)
				})
			})
			if limit := base + 3*32<<20 + 48<<20 + int64(n)*64<<10; most > limit { // and the first buffer of each
				t.Errorf("%d MB resident, want at most %d", most>>20, limit>>20)
			}
		})
	}
}

// Headers that promise gigabytes.
func TestHugeLengths(t *testing.T) {
	a := startTarget(t)
	g, base := a.good(""), a.resident()
	most := a.during(g, 2000, func(ctx context.Context, underWay func()) {
		underWay()
		for ctx.Err() == nil {
			for _, in := range []string{"*1000000000\r\n", "*2\r\n$4\r\nECHO\r\n$2147483647\r\n", "*1024\r\n" + strings.Repeat("$65536\r\n", 3), "*99999999999999999999\r\n"} {
				if conn := a.dial(); conn != nil {
					_, _ = conn.Write([]byte(in))
					conn.Close()
				}
			}
		}
	})
	if limit := flat(base, 0); most > limit {
		t.Errorf("%d MB resident, want at most %d", most>>20, limit>>20)
	}
}

// Clients that connect and leave, 5000 a second at full scale.
func TestReconnectStorm(t *testing.T) {
	a := startTarget(t)
	g, base := a.good(""), a.resident()
	var connected atomic.Int64
	var storm time.Duration
	most := a.during(g, 2000, func(ctx context.Context, underWay func()) {
		underWay()
		start := time.Now()
		defer func() { storm = time.Since(start) }()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for tick := time.NewTicker(20 * time.Millisecond / time.Duration(*attackScale)); ctx.Err() == nil; <-tick.C {
					if conn, err := net.Dial("tcp", a.address); err == nil {
						_, _ = conn.Write([]byte("PING\r\n"))
						_ = conn.(*net.TCPConn).SetLinger(0) // leaves no port behind in TIME_WAIT
						conn.Close()
						connected.Add(1)
					}
				}
			})
		}
		all.Wait()
	})
	if limit := flat(base, 0); most > limit {
		t.Errorf("%d MB resident, want at most %d", most>>20, limit>>20)
	}
	t.Logf("%.0f connections a second", float64(connected.Load())/storm.Seconds())
}
