package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// leases is the state of a concurrency limit: who holds it, until when.
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     bytes in use
//	8       8     end of the last lease, nanoseconds since the Unix epoch
//	16      …     leases: 8 end, 2 length of the holder's name, the name
type leases []byte

const (
	leasesHead  = 16
	leaseHead   = 10
	leasesFirst = 64 // bytes of the smallest state

	// MaxListedBytes bounds the holders and grants listed for one batch. One list is never more.
	MaxListedBytes = 4 << 20
)

func (l leases) used() int        { return int(binary.LittleEndian.Uint32(l[4:])) }
func (l leases) setUsed(n int)    { binary.LittleEndian.PutUint32(l[4:], uint32(n)) }
func (l leases) last() int64      { return int64(binary.LittleEndian.Uint64(l[8:])) }
func (l leases) setLast(at int64) { binary.LittleEndian.PutUint64(l[8:], uint64(at)) }

// at returns the lease at an offset and the offset behind it.
func (l leases) at(offset int) (end int64, holder []byte, next int) {
	end = int64(binary.LittleEndian.Uint64(l[offset:]))
	next = offset + leaseHead + int(binary.LittleEndian.Uint16(l[offset+8:]))
	return end, l[offset+leaseHead : next], next
}

// put writes a lease at an offset and returns the offset behind it.
func (l leases) put(offset int, end int64, holder []byte) int {
	binary.LittleEndian.PutUint64(l[offset:], uint64(end))
	binary.LittleEndian.PutUint16(l[offset+8:], uint16(len(holder)))
	copy(l[offset+leaseHead:], holder)
	return offset + leaseHead + len(holder)
}

// scanLeases looks through the leases, once for each call.
func (c *call) scanLeases() leaseScan {
	if c.isNew {
		return leaseScan{}
	}
	if !c.scanned {
		c.leases, c.scanned = c.scanAllLeases(), true
	}
	return c.leases
}

func (c *call) scanAllLeases() (v leaseScan) {
	l := leases(c.state)
	for offset := leasesHead; offset < l.used(); {
		end, holder, next := l.at(offset)
		if end > c.now {
			if v.count == 0 || end < v.earliest {
				v.earliest = end
			}
			v.count++
			v.bytes += next - offset
			v.last = max(v.last, end)
			if bytes.Equal(holder, c.op.Who) {
				v.found, v.at = true, offset
			} else {
				v.others = max(v.others, end)
			}
		} else {
			v.ended = true
		}
		c.result.Work++
		offset = next
	}
	return v
}

func decideLease(c *call) (changed bool) {
	v, capacity := c.scanLeases(), c.limit.Capacity
	if !v.found && v.count >= capacity {
		c.result.Wait = c.freeAt(v, capacity) - c.now
		c.reportLeases(v)
		return false
	}
	if !v.found {
		v.count++
	}
	v.last = max(v.others, c.now+c.limit.Rate.Period)
	c.result.Allowed, c.result.Granted = true, 1
	c.reportLeases(v)
	return true
}

// freeAt is when enough leases have expired for one more: the first is enough, unless the limit was
// lowered below the number of leases.
func (c *call) freeAt(v leaseScan, capacity int64) int64 {
	if v.count == capacity {
		return v.earliest
	}
	ends := make([]int64, 0, v.count)
	l := leases(c.state)
	for offset := leasesHead; offset < l.used(); {
		end, _, next := l.at(offset)
		if end > c.now {
			ends = append(ends, end)
		}
		offset = next
	}
	slices.Sort(ends)
	return ends[v.count-capacity]
}

func (c *call) reportLeases(v leaseScan) {
	c.reportCount(v.count, c.limit.Capacity, c.op.Verb == engine.Look)
	c.result.Reset = max(0, v.last-c.now)
}

func needLeases(c *call) int {
	size := 0
	if !c.isNew {
		size = len(c.state)
	}
	v := c.scanLeases()
	need := leasesHead + v.bytes
	if !v.found {
		need += leaseHead + len(c.op.Who)
	}
	if need <= size {
		return size
	}
	return engine.Align(max(leasesFirst, need, size+size/2))
}

// usualHolderBytes is the length of a holder's name for which room is kept.
const usualHolderBytes = 64

// fullLeases is the room for as many holders as the limit allows.
func fullLeases(l *limits.Limit) int64 { return leasesHead + l.Capacity*(leaseHead+usualHolderBytes) }

// writeLeases drops leases that have ended and gives the holder a new one.
func writeLeases(c *call, state []byte) {
	l := leases(state)
	until := c.now + c.limit.Rate.Period
	if v := c.scanLeases(); !v.ended {
		if v.found {
			l.put(v.at, until, c.op.Who)
		} else {
			l.setUsed(l.put(max(l.used(), leasesHead), until, c.op.Who))
		}
		l.setLast(max(v.others, until))
		return
	}
	to, last, renewed := leasesHead, until, false
	for offset, used := leasesHead, l.used(); offset < used; {
		end, holder, next := l.at(offset)
		offset = next
		if end <= c.now {
			continue
		}
		if bytes.Equal(holder, c.op.Who) {
			end, renewed = until, true
		}
		last = max(last, end)
		to = l.put(to, end, holder)
	}
	if !renewed {
		to = l.put(to, until, c.op.Who)
	}
	l.setUsed(to)
	l.setLast(last)
}

func lookLeases(c *call) { c.reportLeases(c.scanLeases()) }

// releaseLease ends the lease that the operation names, if it has not ended yet.
func releaseLease(c *call) (released bool) {
	v := c.scanLeases()
	if !v.found {
		return false // the state stays as the journal has it
	}
	l := leases(c.state)
	if !v.ended {
		_, _, next := l.at(v.at)
		l.setUsed(v.at + copy(l[v.at:], l[next:l.used()]))
		l.setLast(v.others)
		return true
	}
	to, last := leasesHead, int64(0)
	for offset, used := leasesHead, l.used(); offset < used; {
		end, holder, next := l.at(offset)
		offset = next
		switch {
		case end <= c.now:
		case bytes.Equal(holder, c.op.Who):
			released = true
		default:
			last = max(last, end)
			to = l.put(to, end, holder)
		}
	}
	l.setUsed(to)
	l.setLast(last)
	return released
}

// listLeases lists the leases in two pieces of memory. In one batch it lists no more than MaxListedBytes.
func listLeases(c *call) {
	l := leases(c.state)
	if c.listed += l.used(); c.listed > MaxListedBytes {
		c.result.Status = engine.ListTooLong
		return
	}
	l, c.result.Leases = bytes.Clone(l[:l.used()]), make([]engine.Lease, 0, c.scanLeases().count)
	for offset := leasesHead; offset < l.used(); {
		end, holder, next := l.at(offset)
		if end > c.now {
			c.result.Leases = append(c.result.Leases, engine.Lease{Holder: holder, Remaining: end - c.now})
		}
		offset = next
	}
}

func leasesExpired(state []byte, _ *limits.Limit, now int64) bool { return leases(state).last() <= now }

func validLeases(state []byte) bool {
	l := leases(state)
	if len(l) < leasesHead || l.used() < leasesHead || l.used() > len(l) {
		return false
	}
	offset := leasesHead
	for offset < l.used() {
		if offset+leaseHead > l.used() {
			return false
		}
		if offset += leaseHead + int(binary.LittleEndian.Uint16(l[offset+8:])); offset > l.used() {
			return false
		}
	}
	return true
}

// plainLeases lists the leases that have not ended.
func plainLeases(state []byte, now int64) (plain []byte) {
	l := leases(state)
	for offset := leasesHead; offset < l.used(); {
		end, _, next := l.at(offset)
		if end > now {
			plain = append(plain, l[offset:next]...)
		}
		offset = next
	}
	return plain
}
