package algorithm

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// listMembers lists the active members, in the order of their names.
func listMembers(c *Call) {
	if c.Prev.Algorithm != limits.FairShare {
		c.WrongType(limits.FairShare)
		return
	}
	s, p := scanShares(c), layout.SharePool(c.State)
	if c.Listed += len(p); c.Listed > engine.MaxListedBytes {
		c.Result.Status = engine.ListTooLong
		return
	}
	members := make([]int, 0, s.active) // places
	for i := range p.Active() {
		if layout.IsEarlier(s.virtual, p.TagAt(i)) {
			members = append(members, i)
		}
	}
	at := func(place int) layout.ShareEntry { return p.Entry(p.EntryAt(place)) }
	slices.SortFunc(members, func(a, b int) int { return bytes.Compare(at(a).Name(), at(b).Name()) })
	b := c.Result.Reply[:0]
	for _, place := range members {
		e := at(place)
		taken := RoundUnits((p.TagAt(place) - s.virtual) * uint64(e.Weight()))
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Weight())), taken)
		b = append(append(b, byte(len(e.Name()))), e.Name()...)
	}
	c.Result.Reply = b
	c.Result.Work += s.active
}

// RoundUnits is a number of tokens, rounded up but for the little that sharing rounds.
func RoundUnits(units uint64) uint64 {
	return (units + layout.UnitsOfToken - layout.UnitsOfToken>>10) >> layout.UnitBits
}
