package raftstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"

	"github.com/stintdb/stint/cluster/boltfile"
	"github.com/stintdb/stint/persistence/disk"
)

// record is a value of the votes with the number of its write. In a file it is
//
//	4  CRC-32C of the key, a zero, and all that follows
//	1  version
//	8  number of the write, the same in both copies
//	   value
type record struct {
	number uint64
	value  []byte
}

const (
	recordVersion = 1
	recordHead    = 4 + 1 + 8
)

func (r record) seal(key string) []byte {
	b := append(make([]byte, 4, recordHead+len(r.value)), recordVersion)
	b = append(binary.LittleEndian.AppendUint64(b, r.number), r.value...)
	binary.LittleEndian.PutUint32(b, recordSum(key, b))
	return b
}

func recordSum(key string, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(append([]byte(key), 0), castagnoli), castagnoli, b[4:])
}

func unsealRecord(key string, b []byte) (r record, err error) {
	if len(b) < recordHead || recordSum(key, b) != binary.LittleEndian.Uint32(b) {
		return r, fmt.Errorf("%w: the value of %q", errDamaged, key)
	}
	if b[4] > recordVersion {
		return r, fmt.Errorf("the value of %q, version %d: %w", key, b[4], disk.ErrNewer)
	}
	return record{binary.LittleEndian.Uint64(b[5:]), bytes.Clone(b[recordHead:])}, nil
}

// records are the votes by their keys.
type records map[string]record

// add takes over the values of others that were written later.
func (r records) add(others records) {
	for key, other := range others {
		if own, is := r[key]; !is || other.number > own.number {
			r[key] = other
		}
	}
}

// last returns the number of the newest write.
func (r records) last() (number uint64) {
	for one := range maps.Values(r) {
		number = max(number, one.number)
	}
	return number
}

func (r records) equal(other records) bool {
	return maps.EqualFunc(r, other, func(a, b record) bool {
		return a.number == b.number &&
			bytes.Equal(a.value, b.value)
	})
}

// readRecords reads one copy of the votes, and checks all of it.
func readRecords(path string) (records, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseRecords(data)
}

func parseRecords(data []byte) (records, error) {
	found := records{}
	whole, err := boltfile.Read(bytes.NewReader(data), int64(len(data)), func(bucket string, key, value []byte) error {
		if bucket != boltfile.Values {
			return fmt.Errorf("%w: entries among the votes", errDamaged)
		}
		r, err := unsealRecord(string(key), value)
		found[string(key)] = r
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !whole:
		return nil, fmt.Errorf("%w: its last write may be missing", errDamaged)
	}
	return found, nil
}
