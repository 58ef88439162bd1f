package algorithm

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Leases is the state of a concurrency limit: who holds it, until when.
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     bytes in use, and the warned bit
//	8       8     end of the last lease, nanoseconds since the Unix epoch
//	16      …     leases: 8 end, 2 length of the holder's name, the name
type Leases []byte

const (
	leasesHead     = 16
	leasesWarnedAt = 7
	// LeaseHead is the number of bytes of a lease without the name of its holder.
	LeaseHead   = 10
	leasesFirst = 64 // bytes of the smallest state
)

// Used is the number of bytes of the leases.
func (l Leases) Used() int        { return layout.LoadSize(l[4:]) }
func (l Leases) setUsed(n int)    { layout.StoreSize(l[4:], n) }
func (l Leases) last() int64      { return int64(binary.LittleEndian.Uint64(l[8:])) }
func (l Leases) setLast(at int64) { binary.LittleEndian.PutUint64(l[8:], uint64(at)) }

// at returns the lease at an offset and the offset after it.
func (l Leases) at(offset int) (end int64, holder []byte, next int) {
	end = int64(binary.LittleEndian.Uint64(l[offset:]))
	next = offset + LeaseHead + int(binary.LittleEndian.Uint16(l[offset+8:]))
	return end, l[offset+LeaseHead : next], next
}

// put writes a lease at an offset and returns the offset after it.
func (l Leases) put(offset int, end int64, holder []byte) int {
	binary.LittleEndian.PutUint64(l[offset:], uint64(end))
	binary.LittleEndian.PutUint16(l[offset+8:], uint16(len(holder)))
	copy(l[offset+LeaseHead:], holder)
	return offset + LeaseHead + len(holder)
}

// ScanLeases looks through the leases, once for each call.
func (c *Call) ScanLeases() leaseScan {
	if c.IsNew {
		return leaseScan{}
	}
	if !c.Scanned {
		c.leases, c.Scanned = scanAllLeases(c), true
	}
	return c.leases
}

func scanAllLeases(c *Call) (v leaseScan) {
	l := Leases(c.State)
	for offset := leasesHead; offset < l.Used(); {
		end, holder, next := l.at(offset)
		if end > c.Now {
			if v.count == 0 || end < v.earliest {
				v.earliest = end
			}
			v.count++
			v.bytes += next - offset
			v.last = max(v.last, end)
			if bytes.Equal(holder, c.Op.Who) {
				v.Found, v.at = true, offset
			} else {
				v.others = max(v.others, end)
			}
		} else {
			v.ended = true
		}
		c.Result.Work++
		offset = next
	}
	return v
}

func decideLease(c *Call) (changed bool) {
	v, capacity := c.ScanLeases(), c.Limit.Capacity
	if !v.Found && v.count >= capacity {
		c.Result.Wait = freeAt(c, v, capacity) - c.Now
		reportLeases(c, v)
		return false
	}
	if !v.Found {
		v.count++
	}
	v.last = max(v.others, c.Now+c.Limit.Rate.Period)
	c.Result.Allowed, c.Result.Granted = true, 1
	reportLeases(c, v)
	return true
}

// freeAt is when enough leases have expired for one more: the first is enough, unless the limit was
// lowered below the number of leases.
func freeAt(c *Call, v leaseScan, capacity int64) int64 {
	if v.count == capacity {
		return v.earliest
	}
	ends := make([]int64, 0, v.count)
	l := Leases(c.State)
	for offset := leasesHead; offset < l.Used(); {
		end, _, next := l.at(offset)
		if end > c.Now {
			ends = append(ends, end)
		}
		offset = next
	}
	slices.Sort(ends)
	return ends[v.count-capacity]
}

func reportLeases(c *Call, v leaseScan) {
	reportCount(c, v.count, c.Limit.Capacity, c.Op.Verb == engine.Look)
	c.Result.Reset = max(0, v.last-c.Now)
}

func needLeases(c *Call) int {
	size := 0
	if !c.IsNew {
		size = len(c.State)
	}
	v := c.ScanLeases()
	need := leasesHead + v.bytes
	if !v.Found {
		need += LeaseHead + len(c.Op.Who)
	}
	if need <= size {
		return size
	}
	return engine.Align(max(leasesFirst, need, size+size/2))
}

// usualHolderBytes is the length of a holder's name for which room is kept.
const usualHolderBytes = 64

// FullLeases is the room for as many holders as the limit allows.
func FullLeases(l *limits.Limit) int64 { return leasesHead + l.Capacity*(LeaseHead+usualHolderBytes) }

// writeLeases drops leases that have ended and gives the holder a new one.
func writeLeases(c *Call, state []byte) {
	l := Leases(state)
	until := c.Now + c.Limit.Rate.Period
	if v := c.ScanLeases(); !v.ended {
		if v.Found {
			l.put(v.at, until, c.Op.Who)
		} else {
			l.setUsed(l.put(max(l.Used(), leasesHead), until, c.Op.Who))
		}
		l.setLast(max(v.others, until))
		return
	}
	to, last, renewed := leasesHead, until, false
	for offset, used := leasesHead, l.Used(); offset < used; {
		end, holder, next := l.at(offset)
		offset = next
		if end <= c.Now {
			continue
		}
		if bytes.Equal(holder, c.Op.Who) {
			end, renewed = until, true
		}
		last = max(last, end)
		to = l.put(to, end, holder)
	}
	if !renewed {
		to = l.put(to, until, c.Op.Who)
	}
	l.setUsed(to)
	l.setLast(last)
}

func lookLeases(c *Call) { reportLeases(c, c.ScanLeases()) }

// releaseLease ends the lease that the operation names, if it has not ended yet.
func releaseLease(c *Call) (released bool) {
	v := c.ScanLeases()
	if !v.Found {
		return false // the state stays as the journal has it
	}
	l := Leases(c.State)
	if !v.ended {
		_, _, next := l.at(v.at)
		l.setUsed(v.at + copy(l[v.at:], l[next:l.Used()]))
		l.setLast(v.others)
		return true
	}
	to, last := leasesHead, int64(0)
	for offset, used := leasesHead, l.Used(); offset < used; {
		end, holder, next := l.at(offset)
		offset = next
		switch {
		case end <= c.Now:
		case bytes.Equal(holder, c.Op.Who):
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

// ListLeases lists the leases in two pieces of memory. In one batch it lists no more than engine.MaxListedBytes. If the
// operation names a holder, only this holder's lease is listed.
func ListLeases(c *Call) {
	l := Leases(c.State)
	if len(c.Op.Who) > 0 {
		if v := c.ScanLeases(); v.Found {
			end, _, _ := l.at(v.at)
			c.Result.Leases = []engine.Lease{{Holder: bytes.Clone(c.Op.Who), Remaining: end - c.Now}}
		}
		return
	}
	if c.Listed += l.Used(); c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	l, c.Result.Leases = bytes.Clone(l[:l.Used()]), make([]engine.Lease, 0, c.ScanLeases().count)
	for offset := leasesHead; offset < l.Used(); {
		end, holder, next := l.at(offset)
		if end > c.Now {
			c.Result.Leases = append(c.Result.Leases, engine.Lease{Holder: holder, Remaining: end - c.Now})
		}
		offset = next
	}
}

func leasesExpired(state []byte, _ *limits.Limit, now int64) bool { return Leases(state).last() <= now }

func validLeases(state []byte) bool {
	l := Leases(state)
	if len(l) < leasesHead || l.Used() < leasesHead || l.Used() > len(l) {
		return false
	}
	offset := leasesHead
	for offset < l.Used() {
		if offset+LeaseHead > l.Used() {
			return false
		}
		if offset += LeaseHead + int(binary.LittleEndian.Uint16(l[offset+8:])); offset > l.Used() {
			return false
		}
	}
	return true
}

// usedOfLeases is the number of leases that have not ended.
func usedOfLeases(state []byte, _ *limits.Limit, now int64) (held int64) {
	l := Leases(state)
	for offset := leasesHead; offset < l.Used(); {
		end, _, next := l.at(offset)
		if end > now {
			held++
		}
		offset = next
	}
	return held
}

// plainLeases lists the leases that have not ended, after a byte that says whether the limiter has warned.
func plainLeases(state []byte, now int64) (plain []byte) {
	l := Leases(state)
	if l[leasesWarnedAt]&layout.WarnedBit != 0 {
		plain = append(plain, 1)
	}
	for offset := leasesHead; offset < l.Used(); {
		end, _, next := l.at(offset)
		if end > now {
			plain = append(plain, l[offset:next]...)
		}
		offset = next
	}
	return plain
}
