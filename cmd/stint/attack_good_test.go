//go:build e2e

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

const (
	goodKeys  = 1000
	goodLimit = 5
)

// good is a client without bad intentions, in a separate process: it asks for goodKeys keys in turn, far more often
// than their limit allows.
type good struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *bufio.Scanner
}

func (a *target) good(login string, environ ...string) *good {
	g := &good{t: a.t, cmd: testserver.Command(a.t, os.Args[0])}
	g.cmd.Env, g.cmd.Stderr = append(append(os.Environ(), asGood+"="+a.address+" "+login), environ...), os.Stderr
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
	a.t.Cleanup(g.end)
	return g
}

// end ends the client's process; it may have ended already.
func (g *good) end() {
	g.in.Close()
	_ = g.cmd.Wait()
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

// check asserts that the server granted each key exactly its limit.
func (g *good) check() {
	g.t.Helper()
	fmt.Fprintln(g.in, 0)
	if g.said.Scan(); g.said.Text() != "exact" {
		g.t.Errorf("the good client says %q", g.said.Text())
	}
}

type latencies struct{ median, p99 time.Duration }

func (l latencies) String() string { return fmt.Sprintf("p50 %v p99 %v", l.median, l.p99) }

const (
	// asGood makes this test's program the good client of a server. Its value is an address and a line with the login.
	asGood = "STINT_TEST_AS_GOOD"
	// asksPing makes it send PING, which other servers answer too.
	asksPing = "STINT_TEST_ASKS_PING"
)

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
	ask := func() {
		key := at % goodKeys
		at++
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
	}
	if os.Getenv(asksPing) != "" {
		ask = func() {
			if fmt.Fprint(conn, "PING\r\n"); next() != "+PONG\r\n" {
				panic(line)
			}
		}
	}
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
			start := time.Now()
			ask()
			took[i] = time.Since(start)
			time.Sleep(200 * time.Microsecond)
		}
		slices.Sort(took)
		fmt.Println(int64(took[n/2]), int64(took[n*99/100]))
	}
}
