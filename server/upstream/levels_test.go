//go:build e2e

package upstream_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
)

// Sidecars of two zones decide under a limit of a home far away, from tokens that their zones lend on. Sidecars and
// zones are killed, and links are cut: no token is granted twice, and all come back at the end.
func TestZonesLendOn(t *testing.T) {
	program := testserver.Build(t, "../..")
	home := testserver.Start(t, program, "--admin", "")
	random := rand.New(rand.NewPCG(testsize.Seed(), 101))
	size, grants := testsize.Pick(1, 10), int64(testsize.Pick(2000, 350_000)) // between two events
	l := &load{t: t, capacity: 100 * grants, home: home, rate: "1/1m", more: testsize.Pick(0, 63)}
	began := time.Now()
	most := func() int64 { return l.capacity + int64(time.Since(began)/time.Minute) }
	var ways []*proxy
	var zones, sidecars []*testserver.Process
	var addresses []string
	for range 2 {
		w := startProxy(t, home)
		w.delay.Store(int64(20 * time.Millisecond))
		ways = append(ways, w)
		at := testserver.ReserveAddress(t)
		zones = append(zones, testserver.Run(t, program, "server", "--listen", at, "--admin", "", "--upstream", w.address(), "--upstream-keys", "g:*", "--upstream-loan-time", "10s"))
		for range 2 {
			beside := testserver.ReserveAddress(t)
			sidecars = append(sidecars, testserver.Run(t, program, "sidecar", "--home", at, "--listen", beside, "--upstream-loan-time", "10s"))
			addresses = append(addresses, beside)
		}
	}
	for _, at := range addresses {
		l.begin(at, 2*time.Millisecond)
		l.begin(at, 2*time.Millisecond)
	}
	lent := func(zone int) bool {
		for _, at := range addresses[2*zone : 2*zone+2] {
			if infoOf(t, at, "upstream_lent_tokens") > 0 {
				return true
			}
		}
		return false
	}
	for _, event := range random.Perm(6 * size) { // of three kinds
		before := l.granted.Load()
		testwait.Until(t, "requests are granted", func() bool { return l.granted.Load() >= before+grants })
		for zone := range zones {
			testwait.Until(t, "tokens are lent on", func() bool { return lent(zone) })
		}
		switch at := random.IntN(2); event % 3 {
		case 0:
			cutFor(ways[at], time.Duration(random.Int64N(int64(2*time.Second))), random.IntN(2) == 0)
		case 1:
			_ = zones[at].End(syscall.SIGKILL)
			zones[at].Start(t)
		case 2:
			at = random.IntN(len(sidecars))
			_ = sidecars[at].End(syscall.SIGKILL)
			sidecars[at].Start(t)
		}
	}
	l.end()
	l.report(t)
	if sum := l.granted.Load() + l.rest(); sum > most() {
		t.Errorf("%d tokens were granted or are left, of %d", sum, most())
	}
	for _, p := range append(sidecars, zones...) {
		if err := p.End(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	testwait.Until(t, "no tokens are lent", func() bool {
		c := dial(t, home) // which does not read nested replies to their ends
		defer c.conn.Close()
		all, failure := c.do("RL.LENT g:1")
		return failure == "" && len(all) == 0
	})
	if sum := l.granted.Load() + l.rest(); sum > most() {
		t.Errorf("%d tokens were granted or are left, of %d, once no loan is left", sum, most())
	}
}
