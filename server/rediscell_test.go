package server

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// cell is redis-cell's arithmetic: integer nanoseconds, with the emission interval rounded down. It is written from the
// description of redis-cell 0.5.0 and kept as plain as possible.
type cell struct{ tat map[string]int64 }

func (c *cell) throttle(now int64, key string, burst, count, period, quantity int64) string {
	interval := period * int64(time.Second) / count
	tolerance := interval * (burst + 1)
	tat := max(now, c.tat[key])
	ttl, limited, retry := tat-now, 0, int64(-1)
	if after := tat + interval*quantity; after-now > tolerance {
		limited = 1
		if interval*quantity <= tolerance {
			// Where redis-cell says 0, because less than a millisecond is left, Stint says 1.
			retry = max(1, cellSeconds(after-now-tolerance))
		}
	} else {
		c.tat[key], ttl = after, after-now
	}
	remaining := int64(0)
	if left := tolerance - ttl; left > -interval {
		remaining = (left / 1000) / (interval / 1000)
	}
	return fmt.Sprintf("[%d %d %d %d %d]", limited, burst+1, remaining, retry, cellSeconds(ttl))
}

func cellSeconds(nanos int64) int64 {
	seconds := nanos / 1e9
	if nanos%1e9/1e6 > 0 {
		seconds++
	}
	return seconds
}

// Replies equal redis-cell's wherever its emission interval is a whole number of milliseconds, as time goes by: there
// nothing it rounds makes a difference.
func TestThrottleAsRedisCell(t *testing.T) {
	p, model := newSessionPlayer(t, 0), cell{map[string]int64{}}
	random := rand.New(rand.NewPCG(1, 2))
	var rules [][3]int64 // burst, count, period
	for len(rules) < 200 {
		rule := [3]int64{random.Int64N(40), 1 + random.Int64N(2000), 1 + random.Int64N(100)}
		if rule[2]*1000%rule[1] == 0 {
			rules = append(rules, rule)
		}
	}
	limited := 0
	for i := range 20_000 {
		n := random.IntN(len(rules))
		burst, count, period := rules[n][0], rules[n][1], rules[n][2]
		interval := time.Duration(period) * time.Second / time.Duration(count)
		if random.IntN(4) == 0 {
			p.Advance((time.Duration(random.Int64N(int64(interval)*2)) / 20).Truncate(time.Millisecond))
		}
		quantity := random.Int64N(4)
		if random.IntN(10) == 0 {
			quantity = random.Int64N(burst + 4)
		}
		key := "rule" + strconv.Itoa(n)
		command := []string{"CL.THROTTLE", key}
		for _, number := range []int64{burst, count, period, quantity} {
			command = append(command, strconv.FormatInt(number, 10))
		}
		want := model.throttle(p.clock.Now(), key, burst, count, period, quantity)
		got, err := p.Do("", bytesOf(command), "")
		if err != nil || got != want {
			t.Fatalf("call %d, %v\n got %s (%v)\nwant %s", i, command, got, err, want)
		}
		if got[1] == '1' {
			limited++
		}
	}
	if limited < 1000 || limited > 19_000 {
		t.Errorf("%d of 20000 calls were limited: the test does not see both sides", limited)
	}
}

func bytesOf(command []string) [][]byte {
	out := make([][]byte, len(command))
	for i, w := range command {
		out[i] = []byte(w)
	}
	return out
}
