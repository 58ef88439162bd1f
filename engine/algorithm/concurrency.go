package algorithm

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

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
	l := layout.Leases(c.State)
	for offset := layout.LeasesHead; offset < l.Used(); {
		end, holder, next := l.At(offset)
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
	l := layout.Leases(c.State)
	for offset := layout.LeasesHead; offset < l.Used(); {
		end, _, next := l.At(offset)
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
	need := layout.LeasesHead + v.bytes
	if !v.Found {
		need += layout.LeaseHead + len(c.Op.Who)
	}
	if need <= size {
		return size
	}
	return engine.Align(max(layout.LeasesFirst, need, size+size/2))
}

// usualHolderBytes is the length of a holder's name for which room is kept.
const usualHolderBytes = 64

// FullLeases is the room for as many holders as the limit allows.
func FullLeases(l *limits.Limit) int64 {
	return layout.LeasesHead + l.Capacity*(layout.LeaseHead+usualHolderBytes)
}

// writeLeases drops leases that have ended and gives the holder a new one.
func writeLeases(c *Call, state []byte) {
	l := layout.Leases(state)
	until := c.Now + c.Limit.Rate.Period
	if v := c.ScanLeases(); !v.ended {
		if v.Found {
			l.Put(v.at, until, c.Op.Who)
		} else {
			l.SetUsed(l.Put(max(l.Used(), layout.LeasesHead), until, c.Op.Who))
		}
		l.SetLast(max(v.others, until))
		return
	}
	to, last, renewed := layout.LeasesHead, until, false
	for offset, used := layout.LeasesHead, l.Used(); offset < used; {
		end, holder, next := l.At(offset)
		offset = next
		if end <= c.Now {
			continue
		}
		if bytes.Equal(holder, c.Op.Who) {
			end, renewed = until, true
		}
		last = max(last, end)
		to = l.Put(to, end, holder)
	}
	if !renewed {
		to = l.Put(to, until, c.Op.Who)
	}
	l.SetUsed(to)
	l.SetLast(last)
}

func lookLeases(c *Call) { reportLeases(c, c.ScanLeases()) }

// releaseLease ends the lease that the operation names, if it has not ended yet.
func releaseLease(c *Call) (released bool) {
	v := c.ScanLeases()
	if !v.Found {
		return false // the state stays as the journal has it
	}
	l := layout.Leases(c.State)
	if !v.ended {
		_, _, next := l.At(v.at)
		l.SetUsed(v.at + copy(l[v.at:], l[next:l.Used()]))
		l.SetLast(v.others)
		return true
	}
	to, last := layout.LeasesHead, int64(0)
	for offset, used := layout.LeasesHead, l.Used(); offset < used; {
		end, holder, next := l.At(offset)
		offset = next
		switch {
		case end <= c.Now:
		case bytes.Equal(holder, c.Op.Who):
			released = true
		default:
			last = max(last, end)
			to = l.Put(to, end, holder)
		}
	}
	l.SetUsed(to)
	l.SetLast(last)
	return released
}

// ListLeases lists the leases in two pieces of memory. In one batch it lists no more than engine.MaxListedBytes. If the
// operation names a holder, only this holder's lease is listed.
func ListLeases(c *Call) {
	l := layout.Leases(c.State)
	if len(c.Op.Who) > 0 {
		if v := c.ScanLeases(); v.Found {
			end, _, _ := l.At(v.at)
			c.Result.Leases = []engine.Lease{{Holder: bytes.Clone(c.Op.Who), Remaining: end - c.Now}}
		}
		return
	}
	if c.Listed += l.Used(); c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	l, c.Result.Leases = bytes.Clone(l[:l.Used()]), make([]engine.Lease, 0, c.ScanLeases().count)
	for offset := layout.LeasesHead; offset < l.Used(); {
		end, holder, next := l.At(offset)
		if end > c.Now {
			c.Result.Leases = append(c.Result.Leases, engine.Lease{Holder: holder, Remaining: end - c.Now})
		}
		offset = next
	}
}

func leasesExpired(state []byte, _ *limits.Limit, now int64) bool {
	return layout.Leases(state).Last() <= now
}

// usedOfLeases is the number of leases that have not ended.
func usedOfLeases(state []byte, _ *limits.Limit, now int64) (held int64) {
	l := layout.Leases(state)
	for offset := layout.LeasesHead; offset < l.Used(); {
		end, _, next := l.At(offset)
		if end > now {
			held++
		}
		offset = next
	}
	return held
}
