package replay

import (
	"math"
	"slices"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// record holds the time of every request, so that [Plan.Suggest] reads the log once, and not once for each size of
// bucket.
type record struct {
	keys  blocks[uint32] // of the requests, in the order of the log
	times blocks[int64]  // in nanoseconds

	byKey [][]int64 // the times of each key that counts, once sorted
	count int64     // of them
	bytes int64     // when it is sorted
	full  bool      // it was given up, because it takes too much memory
}

// recordBytes is the memory of a request while they are sorted.
const recordBytes = 4 + 8 + 8

func (r *record) add(key int, now int64) {
	at, grown := r.keys.add()
	*r.keys.get(at) = uint32(key)
	at, _ = r.times.add()
	*r.times.get(at) = now
	r.bytes += grown * recordBytes
}

// giveUp frees the memory.
func (r *record) giveUp() { *r = record{full: true} }

// sort puts the times in the order of their keys, of which there are some, but for those excepted. requests counts
// those of a key.
func (r *record) sort(keys int, requests func(key int) uint64, except []int) {
	r.byKey = make([][]int64, keys)
	for n := range r.byKey {
		if !slices.Contains(except, n) {
			r.byKey[n] = make([]int64, 0, requests(n))
		}
	}
	for i := range r.keys.len {
		if n := *r.keys.get(i); cap(r.byKey[n]) > 0 {
			r.byKey[n] = append(r.byKey[n], *r.times.get(i))
			r.count++
		}
	}
	r.keys, r.times = blocks[uint32]{}, blocks[int64]{}
}

// canDecide reports whether all requests were recorded, and the arithmetic of [record.deniedShare] holds for buckets
// and all smaller ones.
func (r *record) canDecide(buckets []Bucket) bool {
	return !r.full && !slices.ContainsFunc(buckets, func(b Bucket) bool { return b.Capacity >= math.MaxInt64/2/longestPeriod })
}

// longestPeriod is the longest period of a rate in [rateText].
const longestPeriod = int64(time.Hour)

// shares are the parts of the requests that each limit denies, or any share of at least most.
func (r *record) shares(tried []*Limits, most float64) (shares []float64) {
	for _, l := range tried {
		shares = append(shares, r.deniedShare(l.first.Rate, l.first.Capacity, most))
	}
	return shares
}

// deniedShare is the share of the requests that token buckets would have denied, one for each key, or any share of at
// least most. It counts in the engine's ticks, 1/N ns for a rate of N tokens per period, in which a token takes a
// period to refill: so it decides as the engine does.
func (r *record) deniedShare(rate limits.Rate, capacity int64, most float64) float64 {
	var denied int64
	room := (capacity - 1) * rate.Period // what may be taken before a request that is granted
	for _, times := range r.byKey {
		var taken, last int64
		for _, now := range times {
			if taken > 0 { // not the first
				taken = max(0, taken-min(now-last, taken/rate.Tokens+1)*rate.Tokens)
			}
			last = now
			if taken > room {
				denied++
				continue
			}
			taken += rate.Period
		}
		if share(denied, r.count) >= most {
			break
		}
	}
	return share(denied, r.count)
}
