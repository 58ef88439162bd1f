// Package slot has the hash slots of Redis Cluster, and the groups of a cluster that have them.
package slot

import "bytes"

// Count is the number of hash slots.
const Count = 16384

// Of is a key's slot by the Redis Cluster specification: CRC-16/XMODEM modulo Count of its hash tag, the bytes between
// the first { and the first } after it, or of the whole key if it has no tag or an empty one.
func Of(key []byte) int {
	if _, rest, found := bytes.Cut(key, []byte{'{'}); found {
		if tag, _, closed := bytes.Cut(rest, []byte{'}'}); closed && len(tag) > 0 {
			key = tag
		}
	}
	return int(crc16(key)) % Count
}

// GroupOf is the group, 1 to groups, that has a slot. Each has a range of slots, and none ever moves to another.
func GroupOf(slot, groups int) int { return 1 + slot*groups/Count }

// First is the first slot of a group; the first slot of the next group is the first which is not its own.
func First(group, groups int) int { return ((group-1)*Count + groups - 1) / groups }

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
