package server

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/transcripttest"
)

// speaker sends one command at a time over a socket and reads the reply.
type speaker struct {
	net.Conn
	replies *bufio.Reader
}

func (h *testHost) speaker(t testing.TB) *speaker {
	conn := h.dial(t)
	return &speaker{conn, bufio.NewReader(conn)}
}

func (s *speaker) ask(command string) (string, error) {
	if _, err := s.Write(frames(command)); err != nil {
		return "", err
	}
	return transcripttest.ReadReply(s.replies)
}

// sharedLimits are limits on which many clients meet, of every kind, in any order. Time stands still, so that of each
// as many tokens are granted in all as it has.
var sharedLimits = []struct{ spec, single string }{
	{"TB k0 200 1/h", "TB.ACQUIRE k0 200 1/h"},
	{"LB k1 220 1/h", "LB.ACQUIRE k1 220 1/h"},
	{"FW k2 240 1h", "FW.ACQUIRE k2 240 1h"},
	{"SW k3 260 1h", "SW.ACQUIRE k3 260 1h"},
	{"SL k4 280 1h", "SL.ACQUIRE k4 280 1h"},
	{"FW k5 300 @day", "FW.ACQUIRE k5 300 @day"},
	{"TB k6 320 1/d", "TB.ACQUIRE k6 320 1/d"},
	{"SL k7 340 1h", "SL.ACQUIRE k7 340 1h"},
}

// 16 connections ask overlapping limits together, in any order, while some ask single ones and some within EXEC. In the
// end each limit holds the sum of its grants, and none granted more than it has.
func TestAllOverSockets(t *testing.T) {
	h := serve(t)
	taken := make([]atomic.Int64, len(sharedLimits))
	var granted, denied atomic.Int64
	var wg sync.WaitGroup
	for client := range 16 {
		wg.Go(func() {
			s, random := h.speaker(t), rand.New(rand.NewPCG(uint64(client), 8))
			for range 150 {
				chosen := random.Perm(len(sharedLimits))[:1+random.IntN(4)]
				tokens := 1 + random.Int64N(3)
				command := "RL.ALL"
				for _, i := range chosen {
					command += " " + sharedLimits[i].spec
				}
				command += fmt.Sprint(" TOKENS ", tokens)
				want := "[%d"
				switch random.IntN(4) {
				case 0:
					chosen = chosen[:1]
					command = fmt.Sprint(sharedLimits[chosen[0]].single, " ", tokens)
				case 1:
					if reply, err := s.ask("MULTI"); reply != "+OK" {
						t.Error(reply, err)
						return
					}
					if reply, err := s.ask(command); reply != "+QUEUED" {
						t.Error(reply, err)
						return
					}
					command, want = "EXEC", "[[%d"
				}
				reply, err := s.ask(command)
				var got int64
				if n, _ := fmt.Sscanf(reply, want, &got); n != 1 || err != nil {
					t.Errorf("%s: %s (%v)", command, reply, err)
					return
				}
				switch got {
				case 0:
					denied.Add(1)
				case tokens:
					granted.Add(1)
					for _, i := range chosen {
						taken[i].Add(tokens)
					}
				default:
					t.Errorf("%s: %s, which is neither all nor nothing", command, reply)
				}
			}
		})
	}
	wg.Wait()
	s := h.speaker(t)
	for i := range taken {
		reply, err := s.ask(fmt.Sprint("RL.INFO k", i))
		want := fmt.Sprintf(`"taken" %d "remaining" %d `, taken[i].Load(), int64(200+20*i)-taken[i].Load())
		if !strings.Contains(reply, want) || err != nil || taken[i].Load() > int64(200+20*i) {
			t.Errorf("k%d: %s (%v), want %s", i, reply, err, want)
		}
	}
	if min(granted.Load(), denied.Load()) < 100 {
		t.Errorf("%d granted, %d denied: the traffic tries too little", granted.Load(), denied.Load())
	}
}

// A denial leaves every limit unchanged: RL.INFO, MEMORY USAGE, the memory in all, and the bytes of the state.
func TestDenialLeavesNoTrace(t *testing.T) {
	specs := []string{"CL a 9 1 3600", "TB b 10 1/h", "LB c 10 1/h", "FW d 10 1h", "SW e 10 1h", "SL f 10 1h", "CC g 2 1h %s", "FW h 10 @day"}
	for _, state := range []string{"fresh", "partly used"} {
		for binding := range specs {
			p := newSessionPlayer(t, 0)
			do := func(command string) string {
				t.Helper()
				reply, err := p.Do("", bytesOf(strings.Fields(command)), "")
				if err != nil || strings.HasPrefix(reply, "-ERR") {
					t.Fatalf("%s: %s (%v)", command, reply, err)
				}
				return reply
			}
			if state == "partly used" {
				do("RL.ALL " + fmt.Sprintf(strings.Join(specs, " "), "first") + " TOKENS 4")
			}
			// Exhaust one. The others would all grant.
			for i, reply := 0, "[1 "; strings.HasPrefix(reply, "[1 "); i++ {
				reply = do("RL.ALL " + strings.Replace(specs[binding], "%s", fmt.Sprint("worker-", i), 1))
			}
			p.Advance(1)
			look := func() string {
				seen := fmt.Sprint(p.store.Len(), p.store.Bytes(), "\n")
				for _, key := range "abcdefgh" {
					seen += fmt.Sprintln(string(key), do("RL.INFO "+string(key)), do("MEMORY USAGE "+string(key)), do("PTTL "+string(key)))
				}
				for _, e := range p.entries() {
					seen += e + "\n"
				}
				return seen
			}
			before := look()
			for _, more := range []string{"", " TOKENS 3", " TOKENS 1000", " PEEK"} {
				reply := do("RL.ALL " + fmt.Sprintf(strings.Join(specs, " "), "new") + more)
				if !strings.HasPrefix(reply, "[0 ") {
					t.Errorf("%s, %s exhausted:%s is answered %s", state, specs[binding], more, reply)
				}
				if after := look(); after != before {
					t.Errorf("%s, %s exhausted: a denial of%s changed\n%sto\n%s", state, specs[binding], more, before, after)
				}
			}
		}
	}
}

// entries lists the contents of the store, byte by byte.
func (h *testHost) entries() (all []string) {
	for cursor := uint64(0); ; {
		cursor = h.store.Scan(cursor, 100, h.clock.Now(), func(e keyspace.Entry) {
			all = append(all, fmt.Sprintf("%q %v %x", e.Key, e.Limit, e.State))
		})
		if cursor == 0 {
			slices.Sort(all)
			return all
		}
	}
}
