package memlimit

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// collector has Go's garbage collector keep to the part of --max-memory that is the heap's, and give a peak's memory
// back to the system when it is over. Go's default is to let the heap grow to twice the live memory, and to collect an
// idle process every two minutes.
type collector struct {
	set  func(limit int64) // debug.SetMemoryLimit
	rate func(percent int) // debug.SetGCPercent
	free func() int64      // collects, returns free memory to the system, and reports the memory that Go still holds

	limit   int64 // last set
	percent int   // last set

	mu      sync.Mutex // one collection at a time; guards the rest
	lastRun int64      // clock
	floor   int64      // the least memory that Go had after one
	running sync.WaitGroup
}

const (
	scavengeInterval = 20 * time.Second
	// Memory is given back while Go takes 1/scavengeShare of all, and scavengeMin, more than the floor. That memory may
	// be in use; Go looks again and again all the same, since in the middle of an attack it seems to be.
	scavengeShare = 64
	scavengeMin   = 4 << 20
	// limitStep is the smallest change of the limit that is applied (a fraction of it): setting it stops the process
	// for a moment.
	limitStep = 64
	// gcRoom is the least garbage between two collections, even beyond the limit: with less, collecting would take half
	// of the processor's time.
	gcRoom = 8 << 20
	// gcGarbage is the garbage between two collections of a small heap, or 1/gcShare of the room if that is less. A
	// script leaves 4 KB; with Go's 4 MB between collections, a call of a GCRA script took 8.4 us in place of 6.5.
	// Replies of a megabyte leave several; each collection stops the event loops for a moment.
	gcGarbage  = 48 << 20
	gcShare    = 64
	goPercent  = 100 // Go's own: garbage as large as the live memory
	maxPercent = 8 * goPercent
	// A process in little memory, such as a sidecar, has few bytes to spare for garbage beside its keys.
	smallRoom    = 64 << 20
	smallPercent = goPercent / 2
)

func newCollector() collector {
	return collector{set: func(limit int64) { debug.SetMemoryLimit(limit) },
		rate: func(percent int) { debug.SetGCPercent(percent) }, free: freeMemory, floor: readGoMemory().taken}
}

// freeMemory collects twice: buffers in pools outlive the first time.
func freeMemory() (taken int64) {
	runtime.GC()
	debug.FreeOSMemory()
	return readGoMemory().taken
}

// setLimit has Go collect before its memory exceeds room, where live bytes in use leave it that much.
func (c *collector) setLimit(room, live int64) {
	room = max(room, leastRoom(live))
	if d := room - c.limit; max(d, -d) > c.limit/limitStep {
		c.limit = room
		c.set(room)
	}
	garbage, least := min(gcGarbage, room/gcShare), int64(goPercent)
	if room < smallRoom {
		least = smallPercent
	}
	percent := int(min(maxPercent, max(least, garbage*goPercent/max(live, 1))))
	if d := percent - c.percent; max(d, -d) > c.percent/8 {
		c.percent = percent
		c.rate(percent)
	}
}

// scavenge returns memory to the system on a separate goroutine, if there is enough to return.
func (c *collector) scavenge(now, taken, total int64) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if now-c.lastRun < int64(scavengeInterval) || taken-c.floor < max(total/scavengeShare, scavengeMin) {
		return
	}
	c.lastRun = now
	c.start(func() {})
}

// run gives memory back now, or after a collection that is under way, and calls done from another goroutine.
func (c *collector) run(now func() int64, done func()) {
	c.start(func() {
		c.mu.Lock()
		c.lastRun = now()
		c.mu.Unlock()
		done()
	})
}

func (c *collector) start(done func()) {
	c.running.Go(func() {
		c.mu.Lock()
		c.floor = min(c.floor, c.free())
		c.mu.Unlock()
		done()
	})
}

// recentHeap is the memory that Go needed at the most and, without free memory and the buffers of clients, at the least
// in the last seconds.
type recentHeap struct {
	spans [heapSpans]heapSpan
	at    int   // of the current span
	until int64 // clock: its end
}

type heapSpan struct{ least, most int64 }

// The time of heapSpans spans, and no more, is looked back on.
const (
	heapSpans   = 4
	heapSpanFor = 5 * time.Second
)

// note adds the current memory use.
func (h *recentHeap) note(now, needed, kept int64) {
	if now-h.until >= heapSpans*int64(heapSpanFor) || h.until-now > int64(heapSpanFor) {
		*h = recentHeap{until: now} // nothing of it is of late, or the clock went back
	}
	for now >= h.until {
		h.at = (h.at + 1) % heapSpans
		h.spans[h.at] = heapSpan{kept, needed}
		h.until += int64(heapSpanFor)
	}
	s := &h.spans[h.at]
	s.least, s.most = min(s.least, kept), max(s.most, needed)
}

func (h *recentHeap) bounds() (least, most int64) {
	for _, s := range h.spans {
		if s.most == 0 {
			continue // not yet
		}
		if least == 0 || s.least < least {
			least = s.least
		}
		most = max(most, s.most)
	}
	return least, most
}
