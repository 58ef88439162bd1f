package server

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/server/transcripttest"
)

// 64 connections at once ask the same 100 keys for more than there is. Time stands still, so their grants
// together are exactly those that one alone would have got.
func TestHammer(t *testing.T) {
	const (
		clients  = 64
		keys     = 100
		capacity = 50
		rounds   = 6 // each asks every key in every round: 384 times a key
	)
	// Kinds of requests, which the keys use in turn, and the sum of their grants.
	ways := []struct {
		command string
		granted int64
	}{
		{"CL.THROTTLE %s 49 1 3600", capacity},
		{"TB.ACQUIRE %s 50 1/h", capacity},
		{"TB.ACQUIRE %s 50 1/h 3", capacity / 3 * 3},
		{"TB.ACQUIRE %s 50 1/h 3 UPTO", capacity},
		{"TB.ACQUIRE %s 50 1/h 2 MAXWAIT 10h", capacity + 10},
	}
	h := serve(t)
	var mu sync.Mutex
	granted := make([]int64, keys)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			conn := h.dial(t)
			replies := bufio.NewReader(conn)
			random := rand.New(rand.NewPCG(uint64(client), 0))
			for range rounds {
				order := random.Perm(keys)
				var pipeline []byte
				for _, key := range order {
					pipeline = append(pipeline, frames(fmt.Sprintf(ways[key%len(ways)].command, fmt.Sprint("key", key)))...)
				}
				// Pieces end anywhere, so that commands of all connections interleave.
				for len(pipeline) > 0 {
					n := min(len(pipeline), 1+random.IntN(3000))
					if _, err := conn.Write(pipeline[:n]); err != nil {
						t.Error(err)
						return
					}
					pipeline = pipeline[n:]
				}
				got := make([]int64, keys)
				for _, key := range order {
					reply, err := transcripttest.ReadReply(replies)
					if err != nil {
						t.Error(err)
						return
					}
					got[key] += grants(t, reply, key%len(ways) == 0)
				}
				mu.Lock()
				for key, n := range got {
					granted[key] += n
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for key, n := range granted {
		if want := ways[key%len(ways)].granted; n != want {
			t.Errorf("key %d, %s: %d tokens were granted, want %d", key, ways[key%len(ways)].command, n, want)
		}
	}
}

// grants reads how many tokens a reply grants.
func grants(t testing.TB, reply string, throttle bool) int64 {
	var first, limit, remaining, wait, reset int64
	if n, err := fmt.Sscanf(strings.Trim(reply, "[]"), "%d %d %d %d %d", &first, &limit, &remaining, &wait, &reset); n != 5 || err != nil {
		t.Errorf("not five integers: %s", reply)
	}
	if throttle {
		return 1 - first
	}
	return first
}
