package replay

import (
	"cmp"
	"slices"
)

// busy follows the keys with the most requests over time. A key that comes to be one of them later is followed from
// then on.
type busy struct {
	keys   []*busyKey
	places map[int]*busyKey // by the number of the key
	least  uint64           // a key with fewer requests is not followed
	enter  uint64           // nor does one with fewer take another's place
}

type busyKey struct {
	key      int
	requests series
	denied   []series // by candidate
}

// How many keys are followed, and how many of them a report shows.
const (
	mostBusy  = 32
	shownBusy = 6
)

// of returns the place of a key, which has come count times, or nil. A key takes the place of the least busy one only
// if it has clearly more requests, because that one's history is lost.
func (b *busy) of(key int, count uint64, candidates int, requests func(key int) uint64) *busyKey {
	if count < b.least {
		return nil
	}
	if k := b.places[key]; k != nil {
		return k
	}
	if len(b.keys) < mostBusy {
		if b.places == nil {
			b.places = map[int]*busyKey{}
		}
		k := &busyKey{key: key, denied: make([]series, candidates)}
		b.keys, b.places[key] = append(b.keys, k), k
		return k
	}
	if count < b.enter {
		return nil
	}
	k := slices.MinFunc(b.keys, func(x, y *busyKey) int { return cmp.Compare(requests(x.key), requests(y.key)) })
	b.least = requests(k.key)
	if b.enter = b.least + b.least/4 + 16; count < b.enter {
		return nil
	}
	delete(b.places, k.key)
	k.key, k.requests = key, series{}
	clear(k.denied)
	b.places[key] = k
	return k
}

// KeySeries is the granted and the denied requests of a key in each interval.
type KeySeries struct {
	Key     string  `json:"key"` // empty for all other keys
	Granted []int64 `json:"granted_per_interval"`
	Denied  []int64 `json:"denied_per_interval"`
}

// overTime lists the series of the keys with the most requests that are followed, and one series of all others: all of
// them together are the requests of the log. last is the second of the last request.
func (r *replay) overTime(candidate int, last uint32, slots int) (list []KeySeries) {
	keys := slices.SortedFunc(slices.Values(r.busy.keys), func(x, y *busyKey) int {
		return cmp.Or(cmp.Compare(*r.requests.get(y.key), *r.requests.get(x.key)), cmp.Compare(x.key, y.key))
	})
	others := KeySeries{Granted: slices.Clone(r.report.PerInterval), Denied: slices.Clone(r.candidates[candidate].series.counts[:slots])}
	for i := range others.Granted {
		others.Granted[i] -= others.Denied[i]
	}
	for _, k := range keys[:min(len(keys), shownBusy)] {
		k.requests.fit(last)
		k.denied[candidate].fit(last)
		one := KeySeries{Key: string(r.keys.key(k.key)), Granted: slices.Clone(k.requests.counts[:slots]), Denied: slices.Clone(k.denied[candidate].counts[:slots])}
		for i := range one.Granted {
			one.Granted[i] -= one.Denied[i]
			others.Granted[i] -= one.Granted[i]
			others.Denied[i] -= one.Denied[i]
		}
		list = append(list, one)
	}
	return append(list, others)
}
