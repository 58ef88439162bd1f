package testdisk

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/stintdb/stint/persistence/disk"
)

// Resum makes the checksum of a header right again.
func Resum(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[disk.HeaderBytes-4:], crc32.Checksum(b[:disk.HeaderBytes-4], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// ResumAll corrects all checksums of a file for its number, as far as its blocks' lengths allow, so that the decoder
// gets arbitrary bytes.
func ResumAll(b []byte, magic string, number uint64) []byte {
	if len(b) < disk.HeaderBytes {
		return b
	}
	b = bytes.Clone(b)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[8:], disk.FormatVersion)
	binary.LittleEndian.PutUint64(b[16:], number)
	Resum(b)
	for at := int64(disk.HeaderBytes); at+disk.BlockHead < int64(len(b)); {
		size := int64(binary.LittleEndian.Uint32(b[at:]))
		if size < disk.PayloadHead || at+disk.BlockHead+size > int64(len(b)) {
			break
		}
		copy(b[at:], disk.SealBlock(bytes.Clone(b[at:at+disk.BlockHead+size]), number, at)[:disk.BlockHead])
		at += disk.AlignBlock(disk.BlockHead + size)
	}
	return b
}
