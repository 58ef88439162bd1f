//go:build e2e

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testmodel"
	"github.com/stintdb/stint/internal/testserver"
)

// asBystander makes this test's program the bystander of a server. Its value is an address, the page of the server's
// clock, and a seed.
const asBystander = "STINT_TEST_AS_BYSTANDER"

// bystander is a client with a separate user, in a separate process. It sends random limiter commands, and new keys in
// between, one after the other, and compares every byte of the answers with the exact model. It moves the server's
// clock: by the time that really passes, but never while it waits for an answer.
type bystander struct {
	t    *testing.T
	in   io.WriteCloser
	said *bufio.Scanner

	ended func() // waits for its end
}

// waited is the bystander's waits since the last call.
type waited struct {
	asked, newKeys int
	p99, longest   time.Duration
}

func (w waited) String() string {
	return fmt.Sprintf("%d calls, %d new keys, p99 %v, longest %v", w.asked, w.newKeys, w.p99.Round(10*time.Microsecond), w.longest.Round(10*time.Microsecond))
}

func startBystander(t *testing.T, address string, page *timePage, seed uint64) *bystander {
	t.Helper()
	cmd := testserver.Command(t, os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", asBystander, address, page.file, seed))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &bystander{t: t, in: in, said: bufio.NewScanner(out), ended: sync.OnceFunc(func() { _ = cmd.Wait() })}
	t.Cleanup(b.stop)
	return b
}

// stop returns when the bystander has had its last answer.
func (b *bystander) stop() {
	b.in.Close()
	b.ended()
}

// lap returns the waits since the last lap, or an error if an answer differed from the model's.
func (b *bystander) lap() (w waited, err error) {
	b.t.Helper()
	fmt.Fprintln(b.in)
	if !b.said.Scan() {
		b.t.Fatal("the bystander has ended")
	}
	if _, err := fmt.Sscan(b.said.Text(), &w.asked, &w.newKeys, &w.p99, &w.longest); err != nil {
		return w, errors.New(strings.ReplaceAll(b.said.Text(), "\t", "\n"))
	}
	return w, nil
}

// beBystander runs until its standard input ends.
func beBystander(address, file string, seed uint64) {
	page, err := openPage(file)
	if err != nil {
		panic(err)
	}
	conn, err := dialExact(address)
	if err != nil {
		panic(err)
	}
	laps := make(chan struct{})
	go func() {
		defer close(laps)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			laps <- struct{}{}
		}
	}()
	if reply, err := conn.ask("AUTH", "bystander", "secret"); reply != "+OK\r\n" {
		panic(fmt.Sprint(reply, err))
	}
	calls := testmodel.NewCalls(seed, 1<<30)
	calls.HoldPolicies()
	begin, base := time.Now(), page.now.Load()
	var took []time.Duration
	newKeys, wrong := 0, ""
	ask := func(now int64, command []string, want string) {
		start := time.Now()
		got, err := conn.ask(command...)
		took = append(took, time.Since(start))
		if wrong == "" && (err != nil || !isReply(got, want)) {
			wrong = fmt.Sprintf("seed %d, at %d: %.300q is answered %.300q (%v) and must be %.300q\t%s",
				seed, now, command, got, err, want, strings.Join(calls.History(command), "\t"))
		}
	}
	for n := 0; ; n++ {
		select {
		case _, more := <-laps:
			if !more {
				return
			}
			if wrong != "" {
				fmt.Println(wrong)
				continue
			}
			slices.Sort(took)
			took = append(took, 0)[:max(1, len(took))]
			fmt.Println(len(took), newKeys, int64(took[len(took)*99/100]), int64(took[len(took)-1]))
			took, newKeys = nil, 0
		default:
		}
		now := base + int64(time.Since(begin))
		page.now.Store(now)
		command, want := calls.Single(now)
		ask(now, command, want)
		if n%10 == 0 { // a caller never seen before
			newKeys++
			ask(now, []string{"TB.ACQUIRE", fmt.Sprint("new:", n), "1", "1/10m"}, "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:600000\r\n")
		}
		time.Sleep(300 * time.Microsecond)
	}
}
