package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// shareRequest is a request of a member of a mix.
type shareRequest struct {
	at     int64
	member int
}

// shareMix is members with weights, who ask at random for single tokens.
type shareMix struct {
	weights  []int64
	arrivals []shareRequest
}

// add has another member ask at a mean rate per second, from a time on.
func (m *shareMix) add(r *rand.Rand, weight int64, rate float64, from, until int64) {
	for at := float64(from); ; {
		if at += r.ExpFloat64() / rate * float64(sec); at >= float64(until) {
			break
		}
		m.arrivals = append(m.arrivals, shareRequest{int64(at), len(m.weights)})
	}
	m.weights = append(m.weights, weight)
}

// play has a pool decide, beside a token bucket that is asked for the granted requests alone: the pool is that bucket, exactly.
func (m *shareMix) play(t *testing.T, capacity int64, each func(a shareRequest, got Result)) {
	t.Helper()
	slices.SortFunc(m.arrivals, func(a, b shareRequest) int { return int(a.at - b.at) })
	s := New(Config{Shards: 1})
	defer s.Close()
	one := bucket(capacity, 1000, sec)
	for _, a := range m.arrivals {
		got := ask(s, epoch+a.at, shareOp(fairShare(capacity, 1000, sec), fmt.Sprint(a.member), m.weights[a.member], 1))
		if got.Allowed {
			if same := ask(s, epoch+a.at, Op{Key: []byte("bucket"), Limit: one, Tokens: 1}); !same.Allowed || same.Reset != got.Reset {
				t.Fatalf("granted %+v, where one bucket answers %+v", got, same)
			}
		}
		each(a, got)
	}
}

// waterFill divides 1000 a second by weight among demands, none of which gets more than it asks for.
func waterFill(demands []float64, weights []int64) (shares []float64) {
	shares = make([]float64, len(demands))
	for left, open := 1000.0, len(demands); open > 0; {
		sum, isFilled := 0.0, false
		for i := range demands {
			if shares[i] == 0 {
				sum += float64(weights[i])
			}
		}
		given := 0.0
		for i, d := range demands {
			if shares[i] == 0 && d <= left*float64(weights[i])/sum+1e-9 {
				shares[i], given, isFilled = d, given+d, true
				open--
			}
		}
		if left -= given; isFilled {
			continue
		}
		for i := range demands {
			if shares[i] == 0 {
				shares[i] = left * float64(weights[i]) / sum
			}
		}
		break
	}
	return shares
}

// Twelve random mixes get the shares of weighted water-filling: the worst member within 5 % of the rate, the mean of the worst within 1 %, and at
// least 99 % of the rate is used where the demand reaches it.
func TestFairShareEqualsWaterFilling(t *testing.T) {
	const until, warm = 10 * sec, 10 * sec / 4
	const mixes = 12
	worst, sum := 0.0, 0.0
	for seed := range uint64(mixes) {
		r := rand.New(rand.NewPCG(seed, 44))
		var m shareMix
		for range 2 + r.IntN(19) {
			m.add(r, 1+r.Int64N(5), []float64{5, 20, 50, 100, 300, 1000, 3000}[r.IntN(7)], 0, until)
		}
		asked, got := make([]float64, len(m.weights)), make([]float64, len(m.weights))
		const second = float64(until-warm) / float64(sec)
		m.play(t, 1000, func(a shareRequest, res Result) {
			if a.at < warm {
				return
			}
			asked[a.member] += 1 / second
			if res.Allowed {
				got[a.member] += 1 / second
			}
		})
		demand, used, off := 0.0, 0.0, 0.0
		for i, share := range waterFill(asked, m.weights) {
			demand, used = demand+asked[i], used+got[i]
			off = max(off, share-got[i], got[i]-share)
		}
		if use := used / min(1000, demand); use < 0.99 {
			t.Errorf("seed %d: %.2f %% used", seed, 100*use)
		}
		worst, sum = max(worst, off/1000), sum+off/1000
	}
	mean := sum / mixes
	t.Logf("%d mixes: worst member off by %.2f %% of the rate, mean of the worst %.2f %%", mixes, 100*worst, 100*mean)
	if worst > 0.05 || mean > 0.01 {
		t.Errorf("worst %.2f %%, mean %.2f %%", 100*worst, 100*mean)
	}
}

// Beside floods, a member that asks for half of its share is never denied, neither a newcomer for its first requests.
func TestFairShareBelowTheShareIsGranted(t *testing.T) {
	for floods := 1; floods <= 20; floods++ {
		r := rand.New(rand.NewPCG(uint64(floods), 45))
		var m shareMix
		for range floods {
			m.add(r, 1, 5000/float64(floods), 0, 10*sec)
		}
		half := 1000 / float64(floods+1) / 2
		m.add(r, 1, half, 0, 10*sec)
		m.add(r, 1, half, 5*sec, 10*sec) // the newcomer
		denied, newcomer := 0, 0
		m.play(t, 1000, func(a shareRequest, got Result) {
			if a.member >= floods && !got.Allowed {
				if denied++; a.member > floods {
					newcomer++
				}
			}
		})
		t.Logf("%d floods: %d denied, %d of the newcomer", floods, denied, newcomer)
		if denied > 0 {
			t.Errorf("%d floods: %d denied, %d of the newcomer", floods, denied, newcomer)
		}
	}
}
