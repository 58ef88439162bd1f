package keyspace

import "github.com/stintdb/stint/engine/limits"

// keptKeys are the keys of a shard that outlast a Flush.
type keptKeys struct {
	lent   map[string]struct{} // of limiters with loans
	purses map[string]struct{} // whose limit has its home elsewhere
}

// add takes a new key in, if a Flush keeps its state.
func (k *keptKeys) add(mem *memory, key []byte, a limits.Algorithm) {
	switch {
	case a.IsLent():
		put(&k.lent, key)
		mem.lentKeys.Add(1)
	case a.IsPurse():
		put(&k.purses, key)
		mem.Count(key, 1)
	}
}

func put(keys *map[string]struct{}, key []byte) {
	if *keys == nil {
		*keys = map[string]struct{}{}
	}
	(*keys)[string(key)] = struct{}{}
}

func (k *keptKeys) drop(mem *memory, key []byte, a limits.Algorithm) {
	switch {
	case a.IsLent():
		delete(k.lent, string(key))
		mem.lentKeys.Add(-1)
	case a.IsPurse():
		delete(k.purses, string(key))
		mem.Count(key, -1)
	}
}

func (k *keptKeys) clear(mem *memory) {
	mem.lentKeys.Add(-int64(len(k.lent)))
	for key := range k.purses {
		mem.Count([]byte(key), -1)
	}
	*k = keptKeys{}
}
