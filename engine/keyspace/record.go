package keyspace

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
)

// A record is one key and its state in a shard's arena:
//
//	offset  size  field
//	0       4     id of the limit the state was last written under
//	4       4     length of the key; its highest bit marks the record as noted for the journal, the next one as seen by
//	              the last Snapshot
//	8       k     key, padded to a multiple of 8
//	8+k     s     state; where its size varies, its first 4 bytes are that size
//
// All integers are little-endian, and so are those in states.
const (
	recordHead = 8

	dirtyBit   = 1 << 31
	phaseBit   = 1 << 30
	keyLenMask = phaseBit - 1
)

type record []byte

// WorkBytes is the number of bytes copied in about the time that one lease is read.
const WorkBytes = 64

// RecordBytes is the bytes of a record in memory.
func RecordBytes(stateBytes, keyBytes int) int {
	return recordHead + engine.Align(keyBytes) + engine.Align(stateBytes)
}

func (r record) limitID() uint32      { return binary.LittleEndian.Uint32(r) }
func (r record) setLimitID(id uint32) { binary.LittleEndian.PutUint32(r, id) }
func (r record) keyLen() int          { return int(binary.LittleEndian.Uint32(r[4:]) & keyLenMask) }

func (r record) key() []byte { return r[recordHead : recordHead+r.keyLen()] }

// setKeyLen begins a record: not noted, and of a phase.
func (r record) setKeyLen(n int, phase uint32) { binary.LittleEndian.PutUint32(r[4:], uint32(n)|phase) }

// rest is the record from its state on.
func (r record) rest() []byte { return r[recordHead+engine.Align(r.keyLen()):] }
