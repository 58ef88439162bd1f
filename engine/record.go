package engine

import "encoding/binary"

// A record is one key and its state in a shard's arena, padded to a multiple of 8:
//
//	offset  size  field
//	0       4     id of the limit the state was last written under
//	4       4     length of the key
//	8       s     state, of the size the algorithm says (a multiple of 8)
//	8+s     k     key
const (
	recordHead  = 8
	recordAlign = 8
)

type record []byte

func recordBytes(stateBytes, keyBytes int) int {
	return (recordHead + stateBytes + keyBytes + recordAlign - 1) &^ (recordAlign - 1)
}

func (r record) limitID() uint32        { return binary.LittleEndian.Uint32(r) }
func (r record) setLimitID(id uint32)   { binary.LittleEndian.PutUint32(r, id) }
func (r record) keyLen() int            { return int(binary.LittleEndian.Uint32(r[4:])) }
func (r record) setKeyLen(n int)        { binary.LittleEndian.PutUint32(r[4:], uint32(n)) }
func (r record) state(size int) []byte  { return r[recordHead : recordHead+size : recordHead+size] }
func (r record) keyAt(state int) []byte { return r[recordHead+state : recordHead+state+r.keyLen()] }
