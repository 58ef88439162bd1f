package command

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// Slots is the number of hash slots in a Redis Cluster. One leader serves all of them here; slots matter only to clients that
// look for the node of a slot.
const Slots = 16384

// Slot is a key's slot by the Redis Cluster specification: CRC-16/XMODEM modulo Slots of its hash tag, the bytes between the first {
// and the first } after it, or of the whole key if it has no tag or an empty one.
func Slot(key []byte) int {
	if _, rest, found := bytes.Cut(key, []byte{'{'}); found {
		if tag, _, closed := bytes.Cut(rest, []byte{'}'}); closed && len(tag) > 0 {
			key = tag
		}
	}
	return int(crc16(key)) % Slots
}

// crc16 is the CRC with the polynomial x^16 + x^12 + x^5 + 1, most significant bit first, starting from 0.
func crc16(data []byte) (crc uint16) {
	for _, b := range data {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	return crc
}

var crcTable = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ polynomial
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// SlotOf is the slot of an operation's first key, 0 where it has none.
func SlotOf(op *engine.Op) int {
	op = op.Request()
	switch {
	case op.Verb == engine.Flush:
		return 0
	case op.Verb == engine.Command, op.Verb == engine.Script, op.Verb == engine.Expect:
		if op.KeyCount == 0 {
			return 0
		}
		return Slot(op.DeclaredKeys()[0])
	case op.Verb == engine.AcquireAll:
		return Slot(database.KeyOf(op.Parts[0].Key))
	}
	return Slot(database.KeyOf(op.Key))
}
