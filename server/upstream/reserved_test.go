package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// leftOf returns the tokens that home has of a limit, once it holds the region's tokens no longer.
func leftOf(c *client, key string, capacity int64) int64 {
	got, failure := c.do(fmt.Sprintf("TB.ACQUIRE %s %d 1/6h 1 PEEK", key, capacity))
	if failure != "" {
		return -1
	}
	return got[0] + got[2]
}

// A region answers reservations of home's tokens as home does.
func TestReservedFromHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	for _, to := range []*client{c, h} {
		if _, failure := to.do("RL.POLICY SET p TB g:{} 20 1/6h TB user:{} 9 1/6h"); failure != "" {
			t.Fatal(failure)
		}
	}
	for _, command := range []string{
		"TB.ACQUIRE g:%s 20 1/6h 9 AS id:%s FOR 1m",
		"TB.ACQUIRE g:%s 20 1/6h 9 AS id:%s FOR 1m", // repeated
		"TB.ACQUIRE g:%s 20 1/6h 8 AS id:%s FOR 1m", // differs
		"TB.ACQUIRE g:%s 20 1/6h 99 AS never:%s FOR 1m",
		"RL.EXTEND id:%s 1 3",
		"RL.EXTEND id:%s 1 3",
		"RL.SETTLE id:%s 5",
		"RL.SETTLE id:%s 5",
		"RL.SETTLE id:%s 6",
		"RL.EXTEND id:%s 2 1",
		"RL.ALL TB g:%s 20 1/6h TB mine:%s 9 1/6h TOKENS 4 AS g:all:%s FOR 1m",
		"RL.ALL TB g:%s 20 1/6h TB mine:%s 9 1/6h TOKENS 4 AS g:all:%s FOR 1m",
		"RL.SETTLE g:all:%s COSTS 7 2", // more than reserved
		"RL.CHECK p %s 3 AS check:%s FOR 1m",
		"RL.CHECK p %s 3 AS check:%s FOR 1m",
		"RL.CHECK p %s 6 AS more:%s FOR 1m", // too many
		"RL.CANCEL check:%s",
		"FW.ACQUIRE g:w:%s 20 @day 9 AS window:%s FOR 1m",
		"RL.SETTLE window:%s 5",
		"CL.THROTTLE g:c:%s 19 1 21600 9 AS cell:%s FOR 1m",
		"RL.SETTLE cell:%s 5",
		"TB.ACQUIRE g:x:%s 20 1/6h 9 AS x:%s FOR 1m",
		"RL.EXTEND x:%s 1 12", // too many
		"RL.EXTEND x:%s 1 12 UPTO",
		"RL.EXTEND x:%s 2 1",
		"TB.ACQUIRE g:y:%s 20 1/6h 9 AS y:%s FOR 1m",
		"RL.EXTEND y:%s 1 30 UPTO", // more than the limit
		"RL.EXTEND y:%s 1 30 UPTO",
		"RL.ALL TB g:z:%s 20 1/6h TB zs:%s 99 1/6h TOKENS 4 AS g:z:all:%s FOR 1m",
		"RL.EXTEND g:z:all:%s 1 30 UPTO",
	} {
		want, other := h.all(strings.ReplaceAll(command, "%s", "home"))
		var got []int64
		var failure string
		isSame := func() bool {
			got, failure = c.all(strings.ReplaceAll(command, "%s", "region"))
			return failure == strings.ReplaceAll(other, "home", "region") && reflect.DeepEqual(withoutEnds(command, got), withoutEnds(command, want))
		}
		if strings.Contains(command, " AS ") { // it may be repeated: what goes back to home may not be there yet
			testwait.Until(t, command+" is answered as at home", isSame)
		} else if !isSame() {
			t.Errorf("%s: %v %q, at home %v %q", command, got, failure, want, other)
		}
	}
	region.end() // which returns its tokens
	for _, c := range []string{"TB.ACQUIRE g:%s 20 1/6h PEEK", "FW.ACQUIRE g:w:%s 20 @day PEEK"} {
		got, _ := h.do(strings.ReplaceAll(c, "%s", "region"))
		want, _ := h.do(strings.ReplaceAll(c, "%s", "home"))
		if got[2] != want[2] {
			t.Errorf("%s: %d tokens are left, %d after the same requests at home", c, got[2], want[2])
		}
	}
}

// A denied extension that takes fewer tokens, too, states the wait for one, as home does.
func TestWaitOfDeniedExtension(t *testing.T) {
	const refill = 6 * 3600 * 1000 // ms, of a token
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	for name, c := range map[string]*client{"home": dial(t, home.address), "region": dial(t, region.address)} {
		for _, limits := range []string{"TB g:%s 20 1/6h", "TB g:b:%s 20 1/6h TB mine:%s 20 1/6h", "TB g:c:%s 20 1/6h ELSE BAL none:%s"} {
			id := fmt.Sprint("id:", name, len(limits))
			request := fmt.Sprintf("RL.ALL %s TOKENS 20 AS %s FOR 1m", strings.ReplaceAll(limits, "%s", name), id)
			if got, failure := c.all(request); failure != "" || got[0] != 20 {
				t.Fatalf("%s: %v %s", request, got, failure)
			}
			for _, tokens := range []int{1, 5, 30} {
				got, failure := c.all(fmt.Sprintf("RL.EXTEND %s 1 %d UPTO", id, tokens))
				if failure != "" || got[0] != 0 || got[2] > refill || got[2] <= refill/2 {
					t.Errorf("%s, then %d more: %v %s", request, tokens, got, failure)
				}
			}
		}
	}
}

// withoutEnds drops the times of a reply to a request for one limit, for several, or to a settlement.
func withoutEnds(command string, reply []int64) (rest []int64) {
	for i, n := range reply {
		switch {
		case strings.HasPrefix(command, "RL.SETTLE"), strings.HasPrefix(command, "RL.CANCEL"):
			if i%4 > 1 { // what goes back to home is not there yet
				continue
			}
		case strings.Contains(command, ".ACQUIRE"), strings.HasPrefix(command, "CL."):
			if i > 2 {
				continue
			}
		case i == 2 || i > 2 && i%3 == 2:
			continue
		}
		rest = append(rest, n)
	}
	return rest
}

// Tokens of a reservation that home counts as spent go back to home. The region forgets the reservations of an earlier
// process, and what they hold counts as used.
func TestReservedGoesBackToHome(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	take := func(tokens int) {
		if got, failure := c.all(fmt.Sprintf("RL.ALL TB g:1 100 1/6h TB mine 1000 1/6h TOKENS %d", tokens)); failure != "" || got[0] != int64(tokens) {
			t.Fatalf("%v %s", got, failure)
		}
	}
	c.do("TB.ACQUIRE g:1 100 1/6h 30 AS id FOR 1m")
	take(60) // of which home has to lend some, so it hears of the first ones
	take(1)
	c.all("RL.SETTLE id 10")
	testwait.Until(t, "home has the tokens", func() bool { take(1); return leftOf(h, "g:1", 100) > 0 })
	if got, failure := c.do("RL.REFUND g:1 2"); failure != "" || len(got) != 1 {
		t.Errorf("a refund: %v %s", got, failure)
	}
	if got, failure := c.do("TB.ACQUIRE g:1 100 1/6h 200 FORCE"); failure != "" || got[0] != 200 {
		t.Errorf("with FORCE: %v %s", got, failure)
	}
}

// Between a sidecar and its home, a zone passes on what reservations give back and take beyond their tokens.
func TestReservedBehindAZone(t *testing.T) {
	t.Parallel() // it waits
	home := start(t, "", nil)
	zone := start(t, home.address, nil)
	sidecar := start(t, zone.address, nil)
	c, h := dial(t, sidecar.address), dial(t, home.address)
	for id, amount := range map[string]int64{"less": 10, "more": 50} {
		key := "g:" + id
		for _, command := range []string{"TB.ACQUIRE %s 100 1/6h 30 AS %s FOR 1m", "RL.ALL TB %s 100 1/6h TB mine:%s 100 1/6h TOKENS 10"} {
			if got, failure := c.all(fmt.Sprintf(command, key, id)); failure != "" || got[0] == 0 {
				t.Fatalf("%s: %v %s", command, got, failure)
			}
		}
		if _, failure := c.all(fmt.Sprintf("RL.SETTLE %s %d", id, amount)); failure != "" {
			t.Fatal(failure)
		}
	}
	for key, want := range map[string]int64{"g:less": 80, "g:more": 40} {
		testwait.Until(t, "unused tokens are home", func() bool { return leftOf(h, key, 100) == want })
	}
}

// A process that begins does not know which tokens of earlier reservations have gone back: it forgets them.
func TestReservationsOfAnEarlierProcess(t *testing.T) {
	home := start(t, "", nil)
	var again upstream.Options
	region := startWith(t, home.address, homeTimeout, nil, func(o *upstream.Options) { again = *o })
	c := dial(t, region.address)
	for _, command := range []string{"TB.ACQUIRE g:1 9 1/6h 5 AS home FOR 1m", "TB.ACQUIRE mine 9 1/6h 5 AS here FOR 1m"} {
		if _, failure := c.do(command); failure != "" {
			t.Fatal(failure)
		}
	}
	var most atomic.Int64
	reserved, decides := again.Reserved, again.Decider
	again.Reserved = func(now int64, visit func(id []byte)) {
		for i := range 3000 {
			visit(fmt.Append(nil, "other:", i))
		}
		reserved(now, visit)
	}
	again.Decider = deciderFunc(func(b *engine.Batch) bool {
		most.Store(max(most.Load(), int64(len(b.Ops))))
		return decides.Decide(b)
	})
	upstream.New(again).Close(t.Context())
	if n := most.Load(); n == 0 || n > 1024 {
		t.Errorf("%d operations in one batch", n)
	}
	for id, want := range map[string]string{"home": "[-1]", "here": "[1 9 8]"} {
		if got, failure := c.all("RL.SETTLE " + id + " 1"); failure != "" || fmt.Sprint(got[:min(3, len(got))]) != want {
			t.Errorf("%s: %v %s, want %s", id, got, failure, want)
		}
	}
}

// Callers of two regions reserve tokens, and give some back, while links are cut. Home and the regions grant no more
// than the limit beyond what was given back.
func TestRegionsReserve(t *testing.T) {
	t.Parallel() // it waits
	const capacity = 4000
	home := start(t, "", nil)
	var ways []*proxy
	var regions []*running
	for range 2 {
		w := startProxy(t, home.address)
		w.delay.Store(int64(5 * time.Millisecond))
		ways = append(ways, w)
		regions = append(regions, startImpatient(t, w.address(), time.Second, nil))
	}
	var used, back, ended atomic.Int64
	var callers sync.WaitGroup
	for n := range 8 {
		random := rand.New(rand.NewPCG(testsize.Seed(), uint64(n)))
		c := dial(t, regions[n%2].address)
		callers.Go(func() {
			for i := 0; ended.Load() == 0; i++ {
				most := 1 + random.Int64N(9)
				id := fmt.Sprintf("id:%d:%d", n, i)
				got, failure := c.do(fmt.Sprintf("TB.ACQUIRE g:1 %d 1/6h %d AS %s FOR 1m", capacity, most, id))
				if failure != "" || got[0] == 0 {
					if failure != "" && !strings.HasPrefix(failure, "UPSTREAM ") {
						t.Error(failure)
					}
					time.Sleep(time.Millisecond)
					continue
				}
				time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
				amount := random.Int64N(most + 1) // if more were used, the message that charges it could be lost
				if _, failure := c.all(fmt.Sprintf("RL.SETTLE %s %d", id, amount)); failure != "" {
					t.Error(failure)
				}
				used.Add(amount)
				back.Add(most - amount)
			}
		})
	}
	random := rand.New(rand.NewPCG(testsize.Seed(), 100))
	for range testsize.Pick(2, 6) {
		before := used.Load()
		testwait.Until(t, "requests go on", func() bool { return used.Load() > before+200 })
		cutFor(ways[random.IntN(2)], time.Duration(random.Int64N(int64(time.Second))), random.IntN(2) == 0)
	}
	testwait.Until(t, "most tokens are used", func() bool { return used.Load() > capacity*3/4 })
	ended.Store(1)
	callers.Wait()
	for _, x := range regions {
		x.end()
	}
	l := &load{t: t, capacity: capacity, home: home.address}
	rest := l.rest()
	t.Logf("%d tokens were used, %d were given back, %d are left", used.Load(), back.Load(), rest)
	if sum := used.Load() + rest; sum > capacity || back.Load() == 0 {
		t.Errorf("%d tokens were used or are left, of %d", sum, capacity)
	}
}

// Operations on a reservation may follow it in one pipeline, whether it waits for home or not.
func TestReservedInAPipeline(t *testing.T) {
	home := start(t, "", nil)
	region := start(t, home.address, nil)
	c, h := dial(t, region.address), dial(t, home.address)
	send := func(commands ...string) (replies []string) {
		fmt.Fprint(c.conn, strings.Join(commands, "\r\n")+"\r\n")
		for range commands {
			got, failure := c.all("")
			replies = append(replies, fmt.Sprint(got, failure))
		}
		return replies
	}
	for key, before := range map[string]string{"g:dry": "", "g:full": "TB.ACQUIRE g:full 100 1/6h 30 AS before FOR 1m\r\nRL.CANCEL before"} {
		if before != "" {
			send(strings.Split(before, "\r\n")...)
		}
		got := send("TB.ACQUIRE "+key+" 100 1/6h 10 AS id:"+key+" FOR 1m", "RL.EXTEND id:"+key+" 1 5", "RL.SETTLE id:"+key+" 60", "TB.ACQUIRE mine 9 1/6h 9")
		if !strings.HasPrefix(got[0], "[10 ") || !strings.HasPrefix(got[1], "[5 ") || !strings.HasPrefix(got[2], "[60 100 ") || len(got[3]) < 5 {
			t.Errorf("%s: %q", key, got)
		}
	}
	region.end()
	for _, key := range []string{"g:dry", "g:full"} {
		if left := leftOf(h, key, 100); left != 40 {
			t.Errorf("%s: %d tokens are left", key, left)
		}
	}
}

// A process that was stopped drops the tokens of old loans before it settles anything. Until then, home decides requests
// for one limit.
func TestNothingIsSettledBeforeOldLoansAreDropped(t *testing.T) {
	home := start(t, "", nil)
	var stopped, drops atomic.Int64
	region := startWith(t, home.address, homeTimeout, func(d decider.Decider) decider.Decider {
		return deciderFunc(func(b *engine.Batch) bool {
			if op := &b.Ops[0]; op.Verb == engine.Prepare && op.Options&engine.Force != 0 && drops.Load() == 0 {
				b.Results[0].Status = engine.Overloaded
				return true
			}
			return d.Decide(b)
		})
	}, func(o *upstream.Options) {
		replicas := o.Replicas
		o.LoanTime = time.Minute
		o.Replicas = func() []upstream.Replica {
			all := replicas()
			now := all[0].Now
			all[0].Now = func() int64 { return now() + stopped.Load() }
			return all
		}
	})
	c := dial(t, region.address)
	if got, failure := c.do("TB.ACQUIRE g:1 100 1/6h 10 AS id FOR 1m"); failure != "" || got[0] != 10 {
		t.Fatalf("%v %s", got, failure)
	}
	stopped.Store(int64(45 * time.Second))
	if got, failure := c.all("RL.SETTLE id 2"); !strings.HasPrefix(failure, "UPSTREAM ") {
		t.Errorf("with old tokens: %v %s", got, failure)
	}
	if got, failure := c.do("TB.ACQUIRE g:1 100 1/6h"); failure != "" || got[0] != 1 {
		t.Errorf("a request: %v %s", got, failure)
	}
	if local := region.upstream.Status().Local; local != 1 {
		t.Errorf("%d requests were granted from tokens here", local)
	}
	drops.Store(1)
	testwait.Until(t, "it is settled", func() bool { got, failure := c.all("RL.SETTLE id 2"); return failure == "" && got[0] == 2 })
}

// deciderFunc is a function as a decider.
type deciderFunc func(b *engine.Batch) bool

// Decide implements [decider.Decider].
func (f deciderFunc) Decide(b *engine.Batch) bool { return f(b) }
