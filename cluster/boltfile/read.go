package boltfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
)

// reader reads all pages of a file that its newest transaction uses.
type reader struct {
	file  io.ReaderAt
	pages uint64
	seen  map[uint64]bool
	visit func(bucket string, key, value []byte) error
}

// Read checks the pages of a file that raft-boltdb made, and calls visit for every key, in the order of the keys of
// each bucket. Nobody may write to the file meanwhile. bbolt trusts its pages, which have no checksums: if they are
// damaged it panics, in goroutines of its own too, or reads for ever. So a file is read here before bbolt opens it. Of
// keys and values only lengths and order are checked. whole is false if the last transaction may be missing, because it
// was torn, or because its page at the beginning is damaged. An error of visit ends the reading.
func Read(file io.ReaderAt, size int64, visit func(bucket string, key, value []byte) error) (whole bool, err error) {
	m, whole, err := readMeta(file)
	if err != nil {
		return false, err
	}
	if m.pages > uint64(size/pageSize) {
		return false, damaged("it has been cut short: %d bytes of %d", size, m.pages*pageSize)
	}
	r := &reader{file, m.pages, map[uint64]bool{}, visit}
	root, kind, err := r.page(m.root)
	if err != nil {
		return false, err
	}
	items, err := itemsOf(root, kind)
	if err != nil {
		return false, err
	}
	names := make([]string, len(items))
	for i, bucket := range items {
		names[i] = string(bucket.key)
		if kind != leaf || !bucket.isBucket {
			return false, damaged("something beside its buckets")
		}
	}
	if !slices.Equal(names, []string{Values, Logs}) {
		return false, damaged("its buckets are %q", names)
	}
	for _, bucket := range items {
		if err := r.bucket(string(bucket.key), bucket.value); err != nil {
			return false, err
		}
	}
	return whole, nil
}

// The buckets of raft-boltdb.
const (
	Values = "conf"
	Logs   = "logs"
)

// bucket reads a bucket, whose only page may be inside its value.
func (r *reader) bucket(name string, value []byte) error {
	if len(value) < bucketHead {
		return damaged("the bucket %s", name)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		if len(value) != bucketHead {
			return damaged("the bucket %s", name)
		}
		_, err := r.tree(name, root, 0)
		return err
	}
	page := value[bucketHead:]
	if len(page) < pageHead || binary.LittleEndian.Uint64(page) != 0 || binary.LittleEndian.Uint16(page[8:]) != leaf ||
		binary.LittleEndian.Uint32(page[12:]) != 0 {
		return damaged("the page of the bucket %s", name)
	}
	items, used, err := parseItems(page, leaf)
	if err != nil {
		return err
	}
	if used != len(page) {
		return damaged("the length of the bucket %s", name)
	}
	return r.leaf(name, items)
}

// maxDepth bounds the branches above a leaf: with two keys in each page, no disk has so many pages.
const maxDepth = 64

// tree reads a page and the pages below it, and returns their first key.
func (r *reader) tree(bucket string, id uint64, depth int) (first []byte, err error) {
	page, kind, err := r.page(id)
	if err != nil {
		return nil, err
	}
	items, err := itemsOf(page, kind)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 && (kind == branch || depth > 0) || depth > maxDepth {
		return nil, damaged("page %d of the bucket %s", id, bucket)
	}
	if kind == leaf {
		if len(items) > 0 {
			first = items[0].key
		}
		return first, r.leaf(bucket, items)
	}
	for _, i := range items {
		key, err := r.tree(bucket, i.below, depth+1)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(key, i.key) {
			return nil, damaged("page %d, below %d, is another one", i.below, id)
		}
	}
	return items[0].key, nil
}

// leaf visits the elements of a leaf.
func (r *reader) leaf(bucket string, items []item) error {
	for _, i := range items {
		if i.isBucket {
			return damaged("a bucket in the bucket %s", bucket)
		}
		if err := r.visit(bucket, i.key, i.value); err != nil {
			return err
		}
	}
	return nil
}

// page reads a page, which may be in one place of the tree only.
func (r *reader) page(id uint64) (page []byte, kind uint16, err error) {
	head := make([]byte, pageHead)
	if id < 2 || id >= r.pages {
		return nil, 0, damaged("it has no page %d", id)
	}
	if _, err := r.file.ReadAt(head, int64(id)*pageSize); err != nil {
		return nil, 0, err
	}
	kind, more := binary.LittleEndian.Uint16(head[8:]), uint64(binary.LittleEndian.Uint32(head[12:]))
	if binary.LittleEndian.Uint64(head) != id || kind != branch && kind != leaf || id+more >= r.pages {
		return nil, 0, damaged("page %d", id)
	}
	for i := id; i <= id+more; i++ {
		if r.seen[i] {
			return nil, 0, damaged("page %d is used twice", i)
		}
		r.seen[i] = true
	}
	page = make([]byte, (more+1)*pageSize)
	_, err = r.file.ReadAt(page, int64(id)*pageSize)
	return page, kind, err
}

// itemsOf reads the elements of a page, which may have no more pages than they need.
func itemsOf(page []byte, kind uint16) ([]item, error) {
	items, used, err := parseItems(page, kind)
	if err == nil && (used+pageSize-1)/pageSize != len(page)/pageSize {
		err = damaged("a page of %d bytes with %d", len(page), used)
	}
	return items, err
}
