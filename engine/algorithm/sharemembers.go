package algorithm

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// ListMembers lists the active members, in the order of their names.
func ListMembers(c *Call) {
	if c.Prev.Algorithm != limits.FairShare {
		c.WrongType(limits.FairShare)
		return
	}
	s, p := scanShares(c), SharePool(c.State)
	if c.Listed += len(p); c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	members := make([]int, 0, s.active) // places
	for i := range p.Active() {
		if isEarlier(s.virtual, p.tagAt(i)) {
			members = append(members, i)
		}
	}
	at := func(place int) shareEntry { return p.entry(p.entryAt(place)) }
	slices.SortFunc(members, func(a, b int) int { return bytes.Compare(at(a).name(), at(b).name()) })
	b := c.Result.Reply[:0]
	for _, place := range members {
		e := at(place)
		taken := RoundUnits((p.tagAt(place) - s.virtual) * uint64(e.weight()))
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.weight())), taken)
		b = append(append(b, byte(len(e.name()))), e.name()...)
	}
	c.Result.Reply = b
	c.Result.Work += s.active
}

// RoundUnits is a number of tokens, rounded up but for the little that sharing rounds.
func RoundUnits(units uint64) uint64 { return (units + UnitsOfToken - UnitsOfToken>>10) >> unitBits }
