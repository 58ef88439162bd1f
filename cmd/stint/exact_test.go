//go:build e2e

package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testmodel"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
)

// The tests send random calls of every limiter command to a server, over the wire and at a time that the test controls,
// and to a model written from the handbook. They compare every byte of every reply.
var (
	exactCalls = flag.Int("exact-calls", 4000, "calls held against the exact model by a server alone, and a quarter of it in each mode of durability and on three nodes; 30,000 in CI and a million every night")
	exactSeed  = flag.Uint64("exact-seed", testsize.Seed(), "seed of the calls held against the exact model")
)

// player sends the calls made to the model to a server.
type player struct {
	t     *testing.T
	page  *timePage
	calls *testmodel.Calls
	main  *exactConn

	policiesLag bool // a node may know policies later than others; RL.POLICY LIST waits for them
}

// keepIdle are the flags of a server whose time moves by years between two commands: no connection is idle for too
// long.
var keepIdle = []string{"--idle-timeout", "0"}

func newPlayer(t *testing.T) *player {
	t.Logf("seed: -exact-seed %d -exact-calls %d", *exactSeed, *exactCalls)
	p := &player{t: t, calls: testmodel.NewCalls(*exactSeed, *exactCalls)}
	p.page = newPage(t, p.calls.Model.Now)
	return p
}

// connect connects to a server, or to another one.
func (p *player) connect(address string) {
	p.t.Helper()
	p.hangUp()
	p.main = p.dial(address)
	p.ping() // it counts as logged in before the time moves
}

func (p *player) dial(address string) *exactConn {
	p.t.Helper()
	c, err := dialExact(address)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *player) hangUp() {
	if p.main != nil {
		p.main.Close()
	}
}

// play makes the given number of calls, and compares every reply.
func (p *player) play(until int) {
	p.t.Helper()
	for p.calls.Made() < until {
		s := p.calls.Next()
		p.page.now.Store(s.At)
		if s.Due > 0 {
			p.playHeld(s)
			continue
		}
		p.playNow(s)
		if len(p.main.out) > wholeRead {
			// The server may read its end in a later turn. After a reply in another turn, it is no incomplete command
			// that the next step of the time would expire.
			p.ping()
		}
	}
}

// wholeRead is the number of bytes of commands that one read returns for certain.
const wholeRead = 1000

func (p *player) ping() {
	p.t.Helper()
	if _, err := p.main.ask("PING"); err != nil {
		p.t.Fatal(err)
	}
}

// playNow makes calls whose replies come at once.
func (p *player) playNow(s testmodel.Step) {
	p.t.Helper()
	if p.policiesLag && slices.ContainsFunc(s.Commands, isOnPolicy) {
		if len(s.Commands) > 1 && !s.Multi {
			for i := range s.Commands {
				p.playNow(testmodel.Step{At: s.At, Commands: s.Commands[i : i+1], Replies: s.Replies[i : i+1]})
			}
			return
		}
		if _, err := p.main.ask("RL.POLICY", "LIST"); err != nil {
			p.t.Fatal(err)
		}
	}
	commands := s.Commands
	if s.Multi {
		commands = append(append([][]string{{"MULTI"}}, commands...), []string{"EXEC"})
	}
	if err := p.main.send(commands...); err != nil {
		p.t.Fatal(err)
	}
	if s.Multi {
		want := append([]string{"+OK\r\n"}, make([]string, len(s.Commands))...)
		for i := range s.Commands {
			want[i+1] = "+QUEUED\r\n"
		}
		p.expect(p.main, commands, append(want, fmt.Sprintf("*%d\r\n%s", len(s.Replies), strings.Join(s.Replies, ""))), s.At)
		return
	}
	p.expect(p.main, commands, s.Replies, s.At)
}

func isOnPolicy(words []string) bool { return strings.EqualFold(words[0], "RL.POLICY") }

// playHeld makes a call whose reply the server delays: it must not come a nanosecond early.
func (p *player) playHeld(s testmodel.Step) {
	p.t.Helper()
	side := p.dial(p.main.RemoteAddr().String()) // a connection that was silent for months may be closed
	defer side.Close()
	if err := side.send(s.Commands...); err != nil {
		p.t.Fatal(err)
	}
	came := make(chan string, 1)
	go func() {
		text, err := side.reply()
		if err != nil {
			text = err.Error()
		}
		came <- text
	}()
	early := func() {
		select {
		case text := <-came:
			p.fail(s.Commands[0], s.At, text, "(held) "+s.Replies[0])
		default:
		}
	}
	p.awaitBlocked(early)
	p.page.now.Store(s.Due - 1)
	p.ping()
	early()
	p.page.now.Store(s.Due)
	if text := <-came; !isReply(text, s.Replies[0]) {
		p.fail(s.Commands[0], s.At, text, s.Replies[0])
	}
}

// awaitBlocked waits until the server holds the reply back: only then may the time move.
func (p *player) awaitBlocked(early func()) {
	p.t.Helper()
	testwait.Until(p.t, "a BLOCK waits", func() bool {
		text, err := p.main.ask("INFO", "clients")
		if err != nil {
			p.t.Fatal(err)
		}
		isBlocked := strings.Contains(text, "blocked_clients:1\r\n")
		if !isBlocked {
			early()
		}
		return isBlocked
	})
}

// expect reads the replies to commands.
func (p *player) expect(c *exactConn, commands [][]string, want []string, at int64) {
	p.t.Helper()
	for i := range want {
		got, err := c.reply()
		if err != nil {
			p.t.Fatalf("%.300q: %v", commands[i], err)
		}
		if !isReply(got, want[i]) {
			command := commands[i]
			for _, other := range commands { // within a transaction, all of it
				command = append(command[:len(command):len(command)], other...)
			}
			p.fail(command, at, got, want[i])
		}
	}
}

func (p *player) fail(command []string, at int64, got, want string) {
	p.t.Helper()
	// The finding comes last: a log that is cut keeps its end.
	p.t.Fatalf("the last calls on the keys of the call that differs:\n%s\nAfter %d calls, at %d:\n%.1500q\nis answered %.600q\nand must be %.600q\nRepeat with -exact-seed %d -exact-calls %d.",
		strings.Join(p.calls.History(command), "\n"), p.calls.Made(), at, command, got, want, *exactSeed, *exactCalls)
}

// A single server gives the model's answers.
func TestExactAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	p := newPlayer(t)
	v := startTarget(t, keepIdle...)
	p.connect(v.address)
	defer p.hangUp()
	p.play(*exactCalls)
	v.end(syscall.SIGKILL)
}
