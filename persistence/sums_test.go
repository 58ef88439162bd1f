package persistence

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// resum makes the checksum of a header right again.
func resum(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[headerBytes-4:], crc32.Checksum(b[:headerBytes-4], castagnoli))
	return b
}

// resumAll corrects all checksums of a file for its number, as far as its blocks' lengths allow, so that the decoder
// gets arbitrary bytes.
func resumAll(b []byte, magic string, number uint64) []byte {
	if len(b) < headerBytes {
		return b
	}
	b = bytes.Clone(b)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[8:], formatVersion)
	binary.LittleEndian.PutUint64(b[16:], number)
	resum(b)
	for at := int64(headerBytes); at+blockHead < int64(len(b)); {
		size := int64(binary.LittleEndian.Uint32(b[at:]))
		if size < payloadHead || at+blockHead+size > int64(len(b)) {
			break
		}
		binary.LittleEndian.PutUint32(b[at+4:], blockSum(number, at, b[at+blockHead:at+blockHead+size]))
		at += alignBlock(blockHead + size)
	}
	return b
}
