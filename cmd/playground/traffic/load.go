package traffic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Load describes when requests arrive.
type Load struct {
	Kind      string        // steady, bursts, peak or random
	PerSecond int           // requests per second, on average: 1 to 200
	Seconds   int           // 1 to 60
	Work      time.Duration // how long a granted request holds its lease of a concurrency limit: 1 ms or more
}

// between are the bursts of a load of that kind, which are a tenth of a second long.
const between, burst = 2 * time.Second, 100 * time.Millisecond

// arrivals are the times of the requests, since the start, in order.
func (l Load) arrivals() ([]time.Duration, error) {
	if l.PerSecond < 1 || l.PerSecond > 200 || l.Seconds < 1 || l.Seconds > 60 || l.Work < time.Millisecond {
		return nil, errors.New("ask for 1 to 200 requests per second, for 1 to 60 seconds, with 1 ms of work or more")
	}
	length := time.Duration(l.Seconds) * time.Second
	place, known := places[l.Kind]
	if !known {
		return nil, fmt.Errorf("there is no traffic of the kind %q", l.Kind)
	}
	n := l.PerSecond * l.Seconds
	all := make([]time.Duration, n)
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range all {
		all[i] = place(i, n, length, chance)
	}
	slices.Sort(all)
	return all, nil
}

// places put request i of n at a time of a load of that length.
var places = map[string]func(i, n int, length time.Duration, chance *rand.Rand) time.Duration{
	"steady": func(i, n int, length time.Duration, _ *rand.Rand) time.Duration { return evenly(i, n, length) },
	"bursts": func(i, n int, length time.Duration, _ *rand.Rand) time.Duration {
		at := evenly(i, n, length)
		return at - at%between + at%between*burst/between
	},
	"peak": func(i, n int, length time.Duration, _ *rand.Rand) time.Duration { // half of all in the middle fifth
		if i >= n/4 && i < n-n/4 {
			return length*2/5 + evenly(i-n/4, n-n/4*2, length/5)
		}
		if i < n/4 {
			return evenly(i, n/4, length*2/5)
		}
		return length*3/5 + evenly(i-(n-n/4), n/4, length*2/5)
	},
	"random": func(_, _ int, length time.Duration, chance *rand.Rand) time.Duration {
		return time.Duration(chance.Int64N(int64(length)))
	},
}

// evenly puts request i of n, which come at equal distances.
func evenly(i, n int, length time.Duration) time.Duration {
	return length * time.Duration(i) / time.Duration(n)
}
