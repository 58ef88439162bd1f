package topkeys

const (
	// Counters is how many keys a summary counts. Every key that comes more often than one time in Counters is among
	// them.
	Counters = 1024
	// MaxKeyBytes is the length of the prefix of a key that is kept to show it; a 64-bit hash of the whole key
	// identifies it.
	MaxKeyBytes = 256

	indexSize = 4 * Counters // a power of two
)

// summary is one Space-Saving summary. Nothing in it is allocated after newSummary.
type summary struct {
	counters []counter
	heap     []uint16 // numbers of counters, the smallest count first
	index    [indexSize]uint16
	keys     []byte // MaxKeyBytes for each counter
	total    int64
	follows  bool // the pane before, which had ended just then
}

type counter struct {
	hash     uint64
	count    int64
	over     int64 // most by which count is too large
	variance int64 // of the estimate, where only some of a key's occurrences were looked at
	size     int   // of the key, all of it

	passed         int64 // requests that passed, from since on
	passedVariance int64 // of the estimate of passed
	since          int64 // when the key got the counter
	idle           int8  // panes before this one in which the key had a counter and did not come
	at             int   // in the heap
}

func newSummary() *summary {
	return &summary{counters: make([]counter, 0, Counters), heap: make([]uint16, 0, Counters),
		keys: make([]byte, Counters*MaxKeyBytes)}
}

func (s *summary) reset() {
	s.counters, s.heap, s.total, s.follows = s.counters[:0], s.heap[:0], 0, false
	clear(s.index[:])
}

// add counts a key weight times: one occurrence that was looked at stands for weight of them.
func (s *summary) add(hash uint64, key []byte, weight, now int64) {
	s.total += weight
	slot := s.find(hash)
	if number := s.index[slot]; number != 0 {
		c := &s.counters[number-1]
		c.count += weight
		c.variance += weight * (weight - 1)
		s.down(c.at)
		return
	}
	if len(s.counters) < Counters {
		s.counters = append(s.counters, counter{at: len(s.heap)})
		s.heap = append(s.heap, uint16(len(s.counters)-1))
		s.take(len(s.counters)-1, hash, key, weight, now)
		s.index[slot] = uint16(len(s.counters))
		s.up(len(s.heap) - 1)
		return
	}
	smallest := int(s.heap[0])
	s.forget(s.counters[smallest].hash)
	s.take(smallest, hash, key, weight, now)
	s.index[s.find(hash)] = uint16(smallest + 1)
	s.down(0)
}

// take gives a counter to a key.
func (s *summary) take(number int, hash uint64, key []byte, weight, now int64) {
	c := &s.counters[number]
	*c = counter{hash: hash, count: c.count, over: c.count, size: len(key), at: c.at, since: now}
	c.count += weight
	c.variance = weight * (weight - 1)
	copy(s.keys[number*MaxKeyBytes:(number+1)*MaxKeyBytes], key)
}

// follow gives a counter of 0 to the keys that came in one of the panes before, so that what passes is counted for them
// from here on. A key that comes for the first time takes such a counter over without an error.
func (s *summary) follow(before *summary, now int64) {
	s.follows = true
	for number := range before.counters {
		c := &before.counters[number]
		idle := c.idle
		if c.count == 0 {
			idle++
		} else {
			idle = 0
		}
		if idle >= panes-1 {
			continue
		}
		at := len(s.counters)
		s.counters = append(s.counters, counter{hash: c.hash, size: c.size, at: at, since: now, idle: idle})
		s.heap = append(s.heap, uint16(at))
		s.index[s.find(c.hash)] = uint16(at + 1)
		copy(s.keys[at*MaxKeyBytes:(at+1)*MaxKeyBytes], before.key(number))
	}
}

// counterOf is the counter of a hash, nil if it has none.
func (s *summary) counterOf(hash uint64) *counter {
	if number := s.index[s.find(hash)]; number != 0 {
		return &s.counters[number-1]
	}
	return nil
}

// smallest is the most that a key without a counter can have come.
func (s *summary) smallest() int64 {
	if len(s.counters) < Counters {
		return 0
	}
	return s.counters[s.heap[0]].count
}

func (s *summary) key(number int) []byte {
	kept := min(s.counters[number].size, MaxKeyBytes)
	return s.keys[number*MaxKeyBytes : number*MaxKeyBytes+kept]
}

// find returns the slot of the index that has a hash, or the free one where it belongs.
func (s *summary) find(hash uint64) int {
	slot := int(hash % indexSize)
	for {
		number := s.index[slot]
		if number == 0 || s.counters[number-1].hash == hash {
			return slot
		}
		slot = (slot + 1) % indexSize
	}
}

// forget takes a hash out of the index and moves up the hashes after it.
func (s *summary) forget(hash uint64) {
	hole := s.find(hash)
	for slot := (hole + 1) % indexSize; s.index[slot] != 0; slot = (slot + 1) % indexSize {
		home := int(s.counters[s.index[slot]-1].hash % indexSize)
		if (slot-home+indexSize)%indexSize >= (slot-hole+indexSize)%indexSize {
			s.index[hole] = s.index[slot]
			hole = slot
		}
	}
	s.index[hole] = 0
}

// up and down restore the order of the heap at a place whose count has become smaller or larger.
func (s *summary) up(at int) {
	for at > 0 && s.less(at, (at-1)/2) {
		s.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
}

func (s *summary) down(at int) {
	for {
		child := 2*at + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.less(child+1, child) {
			child++
		}
		if !s.less(child, at) {
			return
		}
		s.swap(at, child)
		at = child
	}
}

func (s *summary) less(a, b int) bool {
	return s.counters[s.heap[a]].count < s.counters[s.heap[b]].count
}

func (s *summary) swap(a, b int) {
	s.heap[a], s.heap[b] = s.heap[b], s.heap[a]
	s.counters[s.heap[a]].at, s.counters[s.heap[b]].at = a, b
}
