package purses

import (
	"sync"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

const (
	hotSlots = 4096
	hotAfter = 8 // requests for a key in a second that show that more will come
)

// counters counts requests for keys that are not held. A slot counts for one key, and another key with the same slot
// takes it over.
type counters [stripes]struct {
	mu    sync.Mutex
	slots []counter // nil until a key is counted: a group without load needs no memory
}

type counter struct {
	hash      uint64
	limit     limits.Limit
	requests  int
	since     time.Duration
	heldUntil time.Duration // the key is not hot before, because its limit has changed
}

// count counts a request, and reports whether the key is hot.
func (c *counters) count(hash uint64, limit limits.Limit, now time.Duration) bool {
	of := &c[hash%stripes]
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.slots == nil {
		of.slots = make([]counter, hotSlots/stripes)
	}
	s := &of.slots[hash/stripes%(hotSlots/stripes)]
	switch {
	case s.hash != hash:
		*s = counter{hash: hash, limit: limit, since: now}
	case s.limit != limit:
		*s = counter{hash: hash, limit: limit, since: now, heldUntil: now + settleFor}
	case now-s.since >= time.Second:
		s.requests, s.since = 0, now
	}
	s.requests++
	return s.requests > hotAfter && now >= s.heldUntil
}
