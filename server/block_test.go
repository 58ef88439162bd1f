package server

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
)

// Many clients wait on one key, for different amounts, and some hang up. Whatever happens:
//   - the remaining clients are answered in the order of their requests,
//   - at no time has more been handed out than the limit allows,
//   - nothing is wasted: the last is answered when the sum of all grants has been refilled, or, if that was before,
//     when the one in front of it hangs up.
func TestBlockFirstComeFirstServed(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		p := newSessionPlayer(t, 0)
		capacity := 1 + random.IntN(10)
		if got, _ := p.Do("first", bytesOf([]string{"TB.ACQUIRE", "k", strconv.Itoa(capacity), "1/s", strconv.Itoa(capacity)}), ""); got == "(held)" {
			t.Fatal("the first waits")
		}
		type waiter struct {
			name   string
			tokens int
		}
		var queue []waiter
		for i := range 2 + random.IntN(20) {
			w := waiter{fmt.Sprint("client", i), 1 + random.IntN(capacity)}
			got, err := p.Do(w.name, bytesOf([]string{"TB.ACQUIRE", "k", strconv.Itoa(capacity), "1/s", strconv.Itoa(w.tokens), "BLOCK", "1h"}), "")
			if got != "(held)" || err != nil {
				t.Fatalf("seed %d: %s (%v)", seed, got, err)
			}
			queue = append(queue, w)
		}
		handedOut, elapsed, lastGone := capacity, 0, -1
		for elapsed = 0; len(queue) > 0; elapsed++ {
			if elapsed > 1000 {
				t.Fatalf("seed %d: %d still wait after 1000 s", seed, len(queue))
			}
			for len(queue) > 0 {
				reply := p.conns[queue[0].name].reply(t)
				if reply == "" {
					break
				}
				want := fmt.Sprintf("*5\r\n:%d\r\n:%d\r\n:", queue[0].tokens, capacity)
				if reply[:len(want)] != want {
					t.Fatalf("seed %d: %s is answered %q", seed, queue[0].name, reply)
				}
				handedOut += queue[0].tokens
				queue = queue[1:]
			}
			for _, w := range queue {
				if reply := p.conns[w.name].reply(t); reply != "" {
					t.Fatalf("seed %d: %s is answered before %s: %q", seed, w.name, queue[0].name, reply)
				}
			}
			if handedOut > capacity+elapsed {
				t.Fatalf("seed %d: after %d s %d tokens have been handed out of a bucket of %d", seed, elapsed, handedOut, capacity)
			}
			if random.IntN(3) == 0 {
				// One hangs up; never the last, which stays to measure the whole.
				if i := random.IntN(max(1, len(queue))); i < len(queue)-1 {
					_ = p.HangUp(queue[i].name)
					queue = slices.Delete(queue, i, i+1)
					lastGone = elapsed
				}
			}
			if len(queue) > 0 {
				p.Advance(time.Second)
			}
		}
		elapsed--
		if handedOut != capacity+elapsed && elapsed > lastGone+1 {
			t.Errorf("seed %d: it took %d s to hand out %d tokens of a bucket of %d", seed, elapsed, handedOut, capacity)
		}
		if n := p.env.WaitQueue.Len(); n != 0 || p.env.WaitQueue.Keys() != 0 {
			t.Errorf("seed %d: %d waiters and %d keys are left behind", seed, n, p.env.WaitQueue.Keys())
		}
	}
}

// The same by a clock that runs: a held reply comes when its time has come, to the nanosecond.
func TestBlockByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, clock := store.New(store.Config{Shards: 1}), clock.New(0)
		defer keys.Close()
		h := New(Options{Config: config.Default(), Decider: &decider.Local{Store: keys, Clock: clock}, Keys: keys, Clock: clock,
			Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		defer h.env.WaitQueue.Stop()
		start := time.Now()
		woken := make(chan time.Duration, 3)
		for _, command := range []string{"TB.ACQUIRE k 1 3/s", "TB.ACQUIRE k 1 3/s BLOCK 1s", "TB.ACQUIRE k 1 3/s BLOCK 1s"} {
			s := h.env.NewSession("", "", func() { woken <- time.Since(start) })
			s.Attach(stuckLink{}, nil)
			s.ServeInput(frames(command))
		}
		for _, want := range []time.Duration{333_333_334, 666_666_667} {
			if got := <-woken; got != want {
				t.Errorf("woken after %v, want %v", got, want)
			}
		}
		time.Sleep(time.Hour)
		if len(woken) > 0 {
			t.Errorf("woken again after %v", <-woken)
		}
	})
}

// A client that kills itself is answered, and executes none of its later commands.
func TestKillItself(t *testing.T) {
	for _, p := range []*sessionPlayer{newSessionPlayer(t, 0), newSessionPlayer(t, 1), newLaterPlayer(t, 0)} {
		for kill, want := range map[string]string{
			"CLIENT KILL TYPE normal SKIPME no": ":1\r\n",
			"MULTI|TB.ACQUIRE j 1 1/s|CLIENT KILL TYPE normal SKIPME no|EXEC"://
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:1\r\n",
		} {
			c := p.open("")
			c.deliver(append(frames(strings.Split(kill, "|")...), frames("TB.ACQUIRE k 1 1/s", "PING")...))
			if got := c.reply(t); got != want || !c.closed {
				t.Errorf("%s is answered %q, closed %v", kill, got, c.closed)
			}
			if n := p.store.Len(); n > 1 {
				t.Errorf("%s: what came behind was carried out", kill)
			}
		}
	}
}

// A client that hangs up during a decision leaves no waiter, and its reservation is refunded.
func TestHangUpBeforeDecision(t *testing.T) {
	for _, order := range []string{"leaves, then decided", "decided, then leaves"} {
		p := newLaterPlayer(t, 0)
		p.open("a").deliver(frames("TB.ACQUIRE k 1 1/s"))
		b := p.open("b")
		b.traffic(frames("TB.ACQUIRE k 1 1/s BLOCK 10s"))
		if order == "decided, then leaves" {
			p.later.finish()
		}
		b.hangUp()
		p.settle()
		if b.sent.Len() > 0 || p.env.WaitQueue.Len() > 0 || p.env.Registry.Count() != 1 {
			t.Errorf("%s: sent %q, %d wait, %d clients", order, b.sent.String(), p.env.WaitQueue.Len(), p.env.Registry.Count())
		}
		p.Advance(time.Second)
		eventually(t, "what was reserved for the client has gone back", func() bool {
			got, err := p.Do("c", bytesOf([]string{"TB.ACQUIRE", "k", "1", "1/s", "PEEK"}), "")
			if err != nil {
				t.Fatal(err)
			}
			return got == "[1 1 0 0 1000]"
		})
	}
}

// The same over sockets and with clients that hang up at any time: when all have gone, the only tokens taken are those
// answered.
func TestHangUpsAtAnyTime(t *testing.T) {
	h := newHost(t, func(l *decider.Local) decider.Decider { return &laterLocal{Local: l, alone: true} })
	stop := h.start(t)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	if reply, err := h.speaker(t).ask("TB.ACQUIRE k 10 1/h 10"); reply != "[10 10 0 0 36000000]" {
		t.Fatal(reply, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		conn := h.dial(t)
		if _, err := conn.Write(frames("TB.ACQUIRE k 10 1/h 1 BLOCK 1000h")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond) // anywhere between sent and held
		conn.Close()
	}
	s := h.speaker(t)
	eventually(t, "all that was reserved has gone back", func() bool {
		reply, err := s.ask("TB.ACQUIRE k 10 1/h 1 PEEK")
		if err != nil {
			t.Fatal(err)
		}
		return reply == "[0 10 0 3600000 36000000]"
	})
	if n := h.env.WaitQueue.Len(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
