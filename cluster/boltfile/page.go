package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The format of bbolt, version 2, on machines of 64 bits with the low byte first. A page begins with
//
//	8  its number
//	2  its kind
//	2  count of its elements
//	4  how many pages it takes beyond one
//
// and goes on with the elements, and then their keys and values, without a gap. An element of a branch is
//
//	4  where its key is, from the element's beginning
//	4  length of the key
//	8  number of the page below, whose first key it is
//
// and one of a leaf
//
//	4  1 if the value is a bucket
//	4  where its key is, followed by the value
//	4  length of the key
//	4  length of the value
//
// A bucket is the number of its first page, 8 unused bytes, and, if the number is 0, that page itself.
const (
	pageSize   = 4096
	pageHead   = 16
	element    = 16
	branch     = 1
	leaf       = 2
	bucketHead = 16
)

// The first two pages are written in turn, each with the beginning of a transaction:
//
//	4  magic number
//	4  version
//	4  size of a page
//	4  not used
//	8  number of the root's page
//	8  not used
//	8  number of the page of the free pages; noFreelist
//	8  number of pages in use
//	8  number of the transaction
//	8  FNV-1a of all before
const (
	magic      = 0xED0CDAED
	version    = 2
	metaSize   = 64
	noFreelist = 1<<64 - 1
)

// ErrDamaged is wrapped by errors about a file that is not as it was written.
var ErrDamaged = errors.New("damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// meta is the record of a transaction in the first pages.
type meta struct{ root, free, pages, transaction uint64 }

// Transaction returns the number of the newest transaction in a file. The number only grows.
func Transaction(file io.ReaderAt) (uint64, error) {
	newest, _, err := readMeta(file)
	return newest.transaction, err
}

// readMeta reads the beginning of the newest transaction. whole is false unless the last two transactions are there:
// otherwise a write was torn, or is lost.
func readMeta(file io.ReaderAt) (newest meta, whole bool, err error) {
	var found []uint64
	for at := range int64(2) {
		b := make([]byte, pageHead+metaSize)
		if _, err := file.ReadAt(b, at*pageSize); err != nil {
			if err == io.EOF {
				continue
			}
			return meta{}, false, err
		}
		m, ok := parseMeta(b[pageHead:])
		if !ok {
			continue
		}
		if len(found) == 0 || m.transaction > newest.transaction {
			newest = m
		}
		found = append(found, m.transaction)
	}
	if len(found) == 0 || newest.free != noFreelist {
		return meta{}, false, damaged("it does not begin as a file of bbolt does")
	}
	return newest, len(found) == 2 && found[0]%2 == 0 && (found[1] == found[0]+1 || found[1] == found[0]-1), nil
}

func parseMeta(b []byte) (m meta, ok bool) {
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	head := [3]uint32{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
	ok = head == [3]uint32{magic, version, pageSize} && number(metaSize-8) == sum.Sum64()
	return meta{root: number(16), free: number(32), pages: number(40), transaction: number(48)}, ok
}

// item is an element of a page. below belongs to a branch, the other fields to a leaf.
type item struct {
	key, value []byte
	isBucket   bool
	below      uint64
}

// parseItems reads the elements of a page, which must lie exactly as bbolt writes them, so a change of any length,
// place or count is noticed. used is the number of bytes that the page fills.
func parseItems(page []byte, kind uint16) (items []item, used int, err error) {
	count := int(binary.LittleEndian.Uint16(page[10:]))
	used = pageHead + count*element
	if used > len(page) {
		return nil, 0, damaged("a page of %d elements", count)
	}
	items = make([]item, count)
	for i := range items {
		at := pageHead + i*element
		e := page[at : at+element]
		field := func(n int) int64 { return int64(binary.LittleEndian.Uint32(e[n*4:])) }
		place, keySize, valueSize := field(0), field(1), int64(0)
		if kind == leaf {
			place, keySize, valueSize = field(1), field(2), field(3)
			if field(0) > 1 {
				return nil, 0, damaged("an element of the kind %d", field(0))
			}
		}
		if int64(at)+place != int64(used) || keySize == 0 || keySize+valueSize > int64(len(page)-used) {
			return nil, 0, damaged("an element of %d+%d bytes at %d", keySize, valueSize, int64(at)+place)
		}
		key := page[used : used+int(keySize)]
		used += int(keySize)
		items[i] = item{key: key, value: page[used : used+int(valueSize)]}
		used += int(valueSize)
		if kind == leaf {
			items[i].isBucket = field(0) == 1
		} else {
			items[i].below = binary.LittleEndian.Uint64(e[8:])
		}
		if i > 0 && bytes.Compare(items[i-1].key, key) >= 0 {
			return nil, 0, damaged("keys out of order")
		}
	}
	return items, used, nil
}
