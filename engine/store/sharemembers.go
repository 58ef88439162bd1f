package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// listMembers lists the active members, in the order of their names.
func listMembers(c *call) {
	if c.prev.Algorithm != limits.FairShare {
		c.wrongType(limits.FairShare)
		return
	}
	s, p := c.scanShares(), sharePool(c.state)
	if c.listed += len(p); c.listed > MaxListedBytes {
		c.result.Status = engine.ListTooLong
		return
	}
	members := make([]int, 0, s.active) // places
	for i := range p.active() {
		if isEarlier(s.virtual, p.tagAt(i)) {
			members = append(members, i)
		}
	}
	at := func(place int) shareEntry { return p.entry(p.entryAt(place)) }
	slices.SortFunc(members, func(a, b int) int { return bytes.Compare(at(a).name(), at(b).name()) })
	b := c.result.Reply[:0]
	for _, place := range members {
		e := at(place)
		taken := roundUnits((p.tagAt(place) - s.virtual) * uint64(e.weight()))
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.weight())), taken)
		b = append(append(b, byte(len(e.name()))), e.name()...)
	}
	c.result.Reply = b
	c.result.Work += s.active
}

// roundUnits is a number of tokens, rounded up but for the little that sharing rounds.
func roundUnits(units uint64) uint64 { return (units + unitsOfToken - unitsOfToken>>10) >> unitBits }
