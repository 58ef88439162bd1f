//go:build e2e

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testmodel"
	"github.com/stintdb/stint/internal/testsize"
)

// Hostile users with the smallest rights attack a server in a separate process, while a bystander continues to ask. The
// test asserts the bystander's answers, which must be the exact model's, and at full size the server's resident memory;
// it prints the bystander's waits like a benchmark.
var (
	hostileScale = flag.Int("hostile-scale", 5, "percent of the largest sizes that hostile users send; 100 every night")
	hostileFor   = flag.Duration("hostile-for", 50*time.Millisecond, "how long each act of the hostile users goes on; 10s every night")
	hostileSeed  = flag.Uint64("hostile-seed", testsize.Seed(), "seed of the hostile campaign")
	hostileActs  = flag.String("hostile-acts", "", "which acts, with commas between; all unless given")
)

// hostileMemory is --max-memory at full size. There the test waits after each act until Go has freed the memory that the
// act took. Below full size it does not wait, so the server has twice as much: otherwise the garbage of several acts, and
// the pages of the program, would leave the bystander's keys no room.
const hostileMemory = 128 << 20

// campaign is a server, its hostile users and its bystander.
type campaign struct {
	t        *testing.T
	server   *target
	root     *exactConn
	page     *timePage
	by       *bystander
	room     int64        // for keys and the program, before the first act
	full     int64        // known decisions without room for their key
	resident atomic.Int64 // the most since it was last taken
}

func startCampaign(t *testing.T) *campaign {
	t.Helper()
	t.Logf("seed: -hostile-seed %d", *hostileSeed)
	page := newPage(t, time.Now().UnixNano())
	memory := hostileMemory
	if *hostileScale < 100 {
		memory *= 2
	}
	h := &campaign{t: t, page: page, server: startTarget(t, "--max-memory", strconv.Itoa(memory), "--failed-logins", "1000000")}
	var err error
	if h.root, err = dialExact(h.server.address); err != nil {
		t.Fatal(err)
	}
	h.fill(1, func(int) []string {
		return []string{"ACL", "SETUSER", "bystander", "on", ">secret", "~*", "+@all", "-@dangerous"}
	})
	h.fill(len(acts), func(i int) []string {
		return append([]string{"ACL", "SETUSER", acts[i].name, "on", ">secret", "-@all"}, strings.Fields(acts[i].rules)...)
	})
	h.by = startBystander(t, h.server.address, page, *hostileSeed)
	return h
}

// lap returns the bystander's waits. If an answer differed from the model's, the bystander starts again. That is an
// error, unless the server counted new keys without room: --when-full decides those.
func (h *campaign) lap(when string) waited {
	h.t.Helper()
	w, err := h.by.lap()
	if err == nil {
		return w
	}
	if full := h.withoutRoom(); full > h.full && *hostileScale >= 100 {
		h.t.Logf("%s: there was no room for %d new keys", when, full-h.full)
		h.full = full
	} else {
		h.t.Errorf("%s: the bystander: %v", when, err)
	}
	h.restart()
	return w
}

// restart begins with a new bystander and without keys.
func (h *campaign) restart() {
	h.by.stop()
	all := append([][]string{{"FLUSHALL"}}, testmodel.NewCalls(*hostileSeed, 1).DropAll()...)
	h.fill(len(all), func(i int) []string { return all[i] })
	h.by = startBystander(h.t, h.server.address, h.page, *hostileSeed)
}

// withoutRoom is the number of decisions made without room for their key.
func (h *campaign) withoutRoom() int64 {
	return h.info("new_keys_refused") + h.info("new_keys_allowed_unlimited") + h.info("new_keys_shared_limiter")
}

func TestHostileUsers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	h := startCampaign(t)
	defer h.root.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil {
			h.resident.Store(max(h.resident.Load(), h.server.resident()))
			time.Sleep(5 * time.Millisecond)
		}
	})
	defer func() { cancel(); watch.Wait() }()
	random := rand.New(rand.NewPCG(*hostileSeed, 4))
	h.room = h.server.room()
	time.Sleep(*hostileFor)
	t.Logf("%-15s %v; room for keys and the program: %d MB", "nobody", h.lap("before"), h.room>>20)
	for _, i := range random.Perm(len(acts)) {
		if *hostileActs == "" || strings.Contains(","+*hostileActs+",", ","+acts[i].name+",") {
			h.perform(&acts[i], random)
			h.aftermath()
		}
	}
}

// perform runs one act in single commands, and then by four connections at once.
func (h *campaign) perform(a *act, random *rand.Rand) {
	h.t.Helper()
	if a.prepare != nil {
		a.prepare(h)
	}
	h.lap("before " + a.name)
	for range 5 {
		h.once(a, random)
	}
	single := h.lap(a.name + ", single commands")
	h.resident.Store(0)
	ctx, cancel := context.WithTimeout(context.Background(), *hostileFor)
	defer cancel()
	var users sync.WaitGroup
	for n := range h.connections(a) {
		r := rand.New(rand.NewPCG(random.Uint64(), uint64(n)))
		users.Go(func() { h.flood(ctx, a, r, n%2 == 1) })
	}
	users.Wait()
	flood := h.lap(a.name)
	resident := h.resident.Load()
	h.t.Logf("%-15s single: longest %-10v flood: %v, %d MB resident", a.name, single.longest.Round(10*time.Microsecond), flood, resident>>20)
	if most := int64(hostileMemory) * 11 / 10; *hostileScale >= 100 && resident > most { // it depends on when Go collects garbage
		h.t.Errorf("%s: %d MB resident, with --max-memory %d MB", a.name, resident>>20, hostileMemory>>20)
	}
	h.fill(1, func(int) []string { return []string{"PING"} })
}

// connections is the number of connections of an act.
func (h *campaign) connections(a *act) int {
	if a.repeat == 0 {
		return 4 + h.scaled(186)
	}
	return 4
}

// aftermath cleans up after an act. At full size it then checks the server: within a minute keys have as much room as
// before, and the bystander's answers are exact.
func (h *campaign) aftermath() {
	h.t.Helper()
	h.fill(1, func(int) []string { return []string{"RL.POLICY", "DEL", "big"} })
	h.fill(1, func(int) []string { return []string{"SCRIPT", "FLUSH"} })
	h.restart()
	if *hostileScale < 100 {
		return
	}
	began, after := time.Now(), int64(0)
	for ; after < h.room*9/10; time.Sleep(time.Second) {
		if after = h.server.room(); time.Since(began) > time.Minute {
			h.t.Errorf("a minute after they left, keys and the program may take %d MB; it was %d MB before", after>>20, h.room>>20)
			return
		}
	}
	h.t.Logf("%-15s keys and the program may take %d MB again after %v, %d MB resident", "", after>>20, time.Since(began).Round(time.Second), h.server.resident()>>20)
	h.restart()
	h.full = h.withoutRoom()
}

func (h *campaign) info(name string) int64 {
	h.t.Helper()
	text, err := h.root.ask("INFO", "everything")
	_, rest, _ := strings.Cut(text, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	n, e := strconv.ParseInt(value, 10, 64)
	if err != nil || e != nil {
		h.t.Fatal(fmt.Sprintf("INFO: %s:%q", name, value), err)
	}
	return n
}
