//go:build e2e

package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testmodel"
	"github.com/stintdb/stint/internal/testwait"
)

// A server that is stopped, or killed, and started again, behaves like the model: in the mode always without a loss, in
// the others from a state that each key had since the last moment that is durable in that mode.
func TestExactThroughRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, mode := range []string{"always", "interval", "snapshot"} {
		t.Run(mode, func(t *testing.T) {
			p, dir := newPlayer(t), t.TempDir()
			random := rand.New(rand.NewPCG(*exactSeed, 2))
			calls := *exactCalls / 4
			v := startVictim(t, dir, mode, keepIdle...)
			p.connect(v.address)
			defer func() { p.hangUp() }()
			p.play(min(200, calls/4))
			if mode != "always" {
				p.calls.HoldPolicies() // a crash may undo their changes
			}
			p.save()
			lives := max(2, calls/500)
			for life := range lives {
				from, until := p.calls.Made(), calls*(life+1)/lives
				p.play(from + random.IntN(max(1, until-from)))
				switch {
				case mode == "interval":
					p.flushed()
				case random.IntN(2) == 0:
					p.save()
				}
				p.play(until)
				how := syscall.SIGKILL
				if random.IntN(3) == 0 {
					how = syscall.SIGTERM
				}
				p.hangUp()
				v.end(how)
				v = startVictim(t, dir, mode, keepIdle...)
				p.connect(v.address)
				p.calls.Restarted()
				if mode != "always" && how == syscall.SIGKILL {
					p.recover()
				}
			}
			v.end(syscall.SIGKILL)
		})
	}
}

// save makes the server write a snapshot, which no crash undoes.
func (p *player) save() {
	p.t.Helper()
	if text, err := p.main.ask("SAVE"); err != nil || text != "+OK\r\n" {
		p.t.Fatalf("SAVE: %q, %v", text, err)
	}
	p.calls.Certain()
}

// flushed waits until the server reports that its journal has all decisions until now.
func (p *player) flushed() {
	p.t.Helper()
	micros := p.calls.Model.Now/1000 + 2
	p.calls.Model.Now = micros * 1000
	p.page.now.Store(p.calls.Model.Now)
	testwait.Until(p.t, "the journal is flushed", func() bool {
		text, err := p.main.ask("INFO", "persistence")
		if err != nil {
			p.t.Fatal(err)
		}
		_, rest, _ := strings.Cut(text, "journal_flushed_until_usec:")
		line, _, _ := strings.Cut(rest, "\r\n")
		until, _ := strconv.ParseInt(line, 10, 64)
		return until >= micros
	})
	p.calls.Certain()
}

// recover continues from the server's recovered state.
func (p *player) recover() {
	p.t.Helper()
	unclear, err := p.calls.Recover(p.main.ask)
	if err != nil {
		p.t.Fatalf("-exact-seed %d -exact-calls %d: after %d calls: %v", *exactSeed, *exactCalls, p.calls.Made(), err)
	}
	for _, key := range unclear {
		for _, command := range testmodel.Drop(key) {
			if text, err := p.main.ask(command...); err != nil {
				p.t.Fatalf("%q: %q, %v", command, text, err)
			}
		}
	}
	p.save()
}
