package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// five is the reply to an acquire.
type five struct{ granted, limit, remaining, waitMs, resetMs int64 }

func readFive(t testing.TB, reply string) (f five) {
	t.Helper()
	if n, err := fmt.Sscanf(reply, "[%d %d %d %d %d]", &f.granted, &f.limit, &f.remaining, &f.waitMs, &f.resetMs); n != 5 {
		t.Fatalf("not five integers: %s (%v)", reply, err)
	}
	return f
}

func (p *sessionPlayer) acquire(t testing.TB, command string) five {
	t.Helper()
	reply, err := p.Do("", bytesOf(strings.Fields(command)), "")
	if err != nil {
		t.Fatal(err)
	}
	return readFive(t, reply)
}

// Clients come at random and wait with BLOCK, and some hang up while they do. The others leave in the order in which
// they came, at the times of a queue in which each leaves one interval after the one before it, or at once when that is
// past; a client beyond the capacity is denied.
func TestQueueShapes(t *testing.T) {
	left, denied, gone := 0, 0, 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 6))
		p := newSessionPlayer(t, 0)
		rate := []int64{1, 2, 4, 5, 10, 20, 100}[random.IntN(7)]
		interval, capacity := 1000/rate, 1+random.Int64N(8)
		type waiter struct {
			name string
			due  int64
		}
		var queue []waiter
		now, free := int64(0), int64(0) // milliseconds; free is when the next may leave
		for i := 0; i < 60 || len(queue) > 0; {
			if i < 60 && random.IntN(3) > 0 {
				name := fmt.Sprint("client", i)
				i++
				got, err := p.Do(name, bytesOf([]string{"LB.QUEUE", "k", strconv.FormatInt(capacity, 10), fmt.Sprint(rate, "/s"), "BLOCK", "1h"}), "")
				if err != nil {
					t.Fatal(err)
				}
				due := max(free, now)
				switch {
				case due-now > capacity*interval:
					if f := readFive(t, got); f.granted != 0 || f.waitMs != due-now-capacity*interval {
						t.Fatalf("seed %d: at %d ms one too many is answered %s, the queue is %d ms long", seed, now, got, due-now)
					}
					denied++
					continue
				case due > now && got != "(held)", due == now && readFive(t, got).granted != 1:
					t.Fatalf("seed %d: at %d ms %s, due at %d ms, is answered %s", seed, now, name, due, got)
				case due > now:
					queue = append(queue, waiter{name, due})
				}
				free = due + interval
				left++
				continue
			}
			if len(queue) > 0 && random.IntN(6) == 0 {
				at := random.IntN(len(queue))
				_ = p.HangUp(queue[at].name)
				queue = slices.Delete(queue, at, at+1)
				for j := at; j < len(queue); j++ {
					queue[j].due -= interval
				}
				free -= interval
				gone++
				continue
			}
			p.Advance(time.Millisecond)
			now++
			for len(queue) > 0 && queue[0].due == now {
				reply := p.conns[queue[0].name].reply(t)
				if want := fmt.Sprintf("*5\r\n:1\r\n:%d\r\n:", capacity+1); len(reply) < len(want) || reply[:len(want)] != want {
					t.Fatalf("seed %d: at %d ms %s is answered %q", seed, now, queue[0].name, reply)
				}
				queue = queue[1:]
			}
			for _, w := range queue {
				if reply := p.conns[w.name].reply(t); reply != "" {
					t.Fatalf("seed %d: at %d ms %s, due at %d ms, is answered %q", seed, now, w.name, w.due, reply)
				}
			}
		}
		if n := p.env.WaitQueue.Len(); n != 0 {
			t.Errorf("seed %d: %d wait for ever", seed, n)
		}
	}
	if left < 1000 || denied < 500 || gone < 500 {
		t.Errorf("%d left, %d were denied and %d hung up: the traffic tries too little", left, denied, gone)
	}
}

// limitReq is nginx's limit_req as its documentation and its source describe it: excess, in thousandths of a request,
// is by how much a client is ahead of its rate. It falls with every millisecond, and a request adds 1000 to it; one
// that would bring it beyond burst is turned away and changes nothing, any other is held until the excess beyond delay
// is worked off. nginx keeps rates in thousandths of a request per second and drops fractions of a millisecond.
type limitReq struct {
	rate, burst int64 // requests per 1000 s, requests
	known       bool
	excess      int64
	last        int64 // ms
}

// request reports whether a request passes, and how long nginx holds it without nodelay, in thousandths of a request.
func (z *limitReq) request(now int64) (passes bool, excess int64) {
	if z.known {
		excess = max(0, z.excess-z.rate*(now-z.last)/1000+1000)
	}
	if excess > z.burst*1000 {
		return false, excess
	}
	z.known, z.excess, z.last = true, excess, now
	return true, excess
}

// delay is for how many milliseconds nginx holds a request that found an excess, with delay=n.
func (z *limitReq) delay(excess, n int64) int64 { return max(0, excess-n*1000) * 1000 / z.rate }

// LB.QUEUE lets the same requests pass as nginx, and holds each as long. The tolerance is one millisecond, in one
// direction: nginx rounds the time it holds a request down and Stint up, so that they differ where the interval is no
// whole number of milliseconds, and only there. Rates are those that nginx's own rounding leaves exact: whole numbers
// of requests per second, or, as 30r/m is half a request per second, traffic at even milliseconds.
func TestQueueIsLimitReq(t *testing.T) {
	zones := []struct {
		nginx, stint string
		rate         int64 // per 1000 s
		grain        int64 // ms
	}{
		{"1r/s", "1/s", 1000, 1}, {"10r/s", "10/s", 10_000, 1}, {"3r/s", "3/s", 3000, 1}, {"7r/s", "7/s", 7000, 1}, {"300r/s", "300/s", 300_000, 1},
		{"1000r/s", "1000/s", 1_000_000, 1}, {"30r/m", "30/m", 500, 2}, {"6r/m", "6/m", 100, 10},
	}
	seeds := testsize.Pick(10, 40)
	passed, held, refused, rounded := 0, 0, 0, 0
	for _, zone := range zones {
		for seed := range uint64(seeds) {
			random := rand.New(rand.NewPCG(seed, 7))
			z := limitReq{rate: zone.rate, burst: random.Int64N(12)}
			p := newSessionPlayer(t, 0)
			queue := fmt.Sprintf("LB.QUEUE queue %d %s", z.burst, zone.stint)
			nodelay := fmt.Sprintf("LB.ACQUIRE meter %d %s", z.burst+1, zone.stint)
			interval, now := 1_000_000/zone.rate, int64(0)
			for i := range 300 {
				if random.IntN(3) == 0 { // between none and a few intervals later
					gap := random.Int64N(3*interval/zone.grain+2) * zone.grain
					p.Advance(time.Duration(gap) * time.Millisecond)
					now += gap
				}
				at := fmt.Sprintf("%s burst=%d, seed %d, request %d at %d ms", zone.nginx, z.burst, seed, i, now)
				passes, excess := z.request(now)
				got, meter := p.acquire(t, queue), p.acquire(t, nodelay)
				if (got.granted == 1) != passes || (meter.granted == 1) != passes {
					t.Fatalf("%s: nginx lets it pass: %v; %+v, %+v", at, passes, got, meter)
				}
				if !passes {
					refused++
					continue
				}
				passed++
				want := z.delay(excess, 0)
				if want > 0 {
					held++
				}
				exact := excess*1000%zone.rate == 0
				if got.waitMs != want && (exact || got.waitMs != want+1) {
					t.Fatalf("%s: nginx holds it for %d ms; %+v", at, want, got)
				}
				if !exact {
					rounded++
				}
				// delay=n: the wait less n intervals. Where both are whole milliseconds, that is exact.
				if n := z.burst / 2; exact && n*1_000_000%zone.rate == 0 {
					if want, got := z.delay(excess, n), max(0, got.waitMs-n*1_000_000/zone.rate); got != want {
						t.Fatalf("%s: nginx with delay=%d holds it for %d ms, not %d", at, n, want, got)
					}
				}
			}
		}
	}
	if min(passed, held, refused, rounded) < 50*seeds {
		t.Errorf("%d passed, %d were held, %d refused, %d not whole milliseconds: the traffic tries too little", passed, held, refused, rounded)
	}
}
