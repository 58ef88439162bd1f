package replay

import (
	"bytes"
	"hash/maphash"
)

// keyTable numbers keys in the order in which they come, and holds their text. Its tables hold few pointers, and those
// of the text grow by blocks, so that nothing is copied but the slots.
type keyTable struct {
	seed  maphash.Seed
	slots []uint64 // the number + 1, and above it 32 bits of the hash; 0 if free
	at    blocks[keyPlace]
	text  [][]byte // blocks of textBlock bytes
	used  int      // bytes of the last block
	bytes int64
}

// keyPlace is the place of a key's text: the block, the position in it and the length.
type keyPlace struct {
	block, from uint32
	size        uint32
}

const (
	textBlock  = 1 << 18
	maxKey     = textBlock
	firstSlots = 1 << 10
)

func newKeyTable() *keyTable {
	return &keyTable{seed: maphash.MakeSeed(), slots: make([]uint64, firstSlots), used: textBlock, bytes: firstSlots * 8}
}

func (t *keyTable) len() int { return t.at.len }

// number returns the number of a key, from 0, which is the next one for a key that is new. The key is at most maxKey
// bytes.
func (t *keyTable) number(key []byte) int {
	h := maphash.Bytes(t.seed, key)
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			n := t.add(key)
			t.slots[i] = h&^(1<<32-1) | uint64(n+1)
			if n+1 > len(t.slots)/4*3 {
				t.grow()
			}
			return n
		}
		if s>>32 == h>>32 {
			if n := int(uint32(s)) - 1; bytes.Equal(t.key(n), key) {
				return n
			}
		}
	}
}

func (t *keyTable) key(n int) []byte {
	p := t.at.get(n)
	return t.text[p.block][p.from : p.from+p.size]
}

func (t *keyTable) add(key []byte) int {
	if t.used+len(key) > textBlock {
		t.text, t.used = append(t.text, make([]byte, textBlock)), 0
		t.bytes += textBlock
	}
	block := len(t.text) - 1
	copy(t.text[block][t.used:], key)
	n, grown := t.at.add()
	*t.at.get(n) = keyPlace{uint32(block), uint32(t.used), uint32(len(key))}
	t.used += len(key)
	t.bytes += grown * 12
	return n
}

func (t *keyTable) grow() {
	old := t.slots
	t.slots = make([]uint64, 2*len(old))
	t.bytes += int64(len(old)) * 8
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := maphash.Bytes(t.seed, t.key(int(uint32(s))-1)) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// blocks is a list that grows by blocks and is never copied.
type blocks[T any] struct {
	list [][]T
	len  int
}

const blockItems = 1 << 12

// add appends a zero item and returns its position, and the number of items by which the memory grew.
func (b *blocks[T]) add() (at int, grown int64) {
	if b.len == len(b.list)*blockItems {
		b.list, grown = append(b.list, make([]T, blockItems)), blockItems
	}
	b.len++
	return b.len - 1, grown
}

func (b *blocks[T]) get(n int) *T { return &b.list[n/blockItems][n%blockItems] }
