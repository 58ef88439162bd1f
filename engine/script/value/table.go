package value

import (
	"hash/maphash"
	"math"
	"slices"
)

// MaxIndex is the first whole number that does not extend a table's array. The budget ends a script before it fills that
// number of items.
const MaxIndex = 1 << 17

// Table is a table of Lua. Whole numbers from 1 to below [MaxIndex] are indexes of an array, with nil in the gaps; other
// keys stand in the order in which they were first set, and keep their place when they are deleted.
type Table struct {
	Meta  *Table
	Shows *Table // of a table that scripts can only read: the one with the values

	array   []Value
	longest int // array that was trimmed, whose indexes iteration may still be at
	entries []entry
	index   []uint32 // of entries, from 1, by hash with linear probing; nil in a small table
}

type entry struct{ key, value Value }

// smallTable is the number of keys up to which they are compared one by one.
const smallTable = 8

// NewTable makes a table with room for items and fields.
func NewTable(items, fields int) *Table {
	t := &Table{}
	if items > 0 {
		t.array = make([]Value, 0, items)
	}
	if fields > 0 {
		t.entries = make([]entry, 0, fields)
	}
	return t
}

// Shown is the table whose values a script sees in this one.
func (t *Table) Shown() *Table {
	if t.Shows != nil {
		return t.Shows
	}
	return t
}

// Len is the number of the last item that is not nil.
func (t *Table) Len() int {
	n := len(t.array)
	for n > 0 && t.array[n-1].IsNil() {
		n--
	}
	return n
}

// arrayIndex returns the index of a key in the array, from 0.
func arrayIndex(key Value) (i int, is bool) {
	if !key.IsNumber() {
		return 0, false
	}
	x := key.Float()
	i = int(x)
	return i - 1, x >= 1 && x < MaxIndex && float64(i) == x
}

// Get returns the value of a key, without metamethods.
func (t *Table) Get(key Value) Value {
	if i, is := arrayIndex(key); is {
		return t.GetInt(i + 1)
	}
	if at := t.find(key); at >= 0 {
		return t.entries[at].value
	}
	return Nil
}

// GetInt returns an item.
func (t *Table) GetInt(i int) Value {
	if i >= 1 && i <= len(t.array) {
		return t.array[i-1]
	}
	return Nil
}

// Items returns the items before the first nil.
func (t *Table) Items() []Value {
	n := 0
	for n < len(t.array) && !t.array[n].IsNil() {
		n++
	}
	return t.array[:n]
}

// GetString returns the value of a text.
func (t *Table) GetString(key string) Value {
	if at := t.findString(key); at >= 0 {
		return t.entries[at].value
	}
	return Nil
}

// Set sets a key that is neither nil nor NaN, without metamethods.
func (t *Table) Set(key, value Value) {
	if i, is := arrayIndex(key); is {
		t.SetInt(i+1, value)
		return
	}
	at := t.find(key)
	switch {
	case at >= 0:
		t.entries[at].value = value
	case !value.IsNil():
		t.add(key, value)
	}
}

// SetString sets the value of a text.
func (t *Table) SetString(key string, value Value) {
	at := t.findString(key)
	switch {
	case at >= 0:
		t.entries[at].value = value
	case !value.IsNil():
		t.add(String(key), value)
	}
}

// SetInt sets an item. Items before it that do not exist become nil.
func (t *Table) SetInt(i int, value Value) {
	switch n := len(t.array); {
	case i == n+1 && i < MaxIndex: // as replies and constructors do
		t.array = append(t.array, value)
	case i >= 1 && i <= n:
		t.array[i-1] = value
	case i < 1 || i >= MaxIndex:
		t.Set(Int(i), value)
	default:
		t.array = append(append(t.array, make([]Value, i-n-1)...), value)
	}
}

// SetItems sets the items after the first start ones.
func (t *Table) SetItems(start int, values []Value) {
	if len(t.array) == start && start+len(values) < MaxIndex {
		t.array = append(t.array, values...)
		return
	}
	for i, v := range values {
		t.SetInt(start+i+1, v)
	}
}

// HasFields reports whether keys other than those of the array were set.
func (t *Table) HasFields() bool { return len(t.entries) > 0 }

// Insert puts a value before an item of the array.
func (t *Table) Insert(i int, value Value) { t.array = slices.Insert(t.array, i-1, value) }

// Remove takes an item from the array, and moves up those after it.
func (t *Table) Remove(i int) {
	if i >= 1 && i <= len(t.array) {
		t.array = slices.Delete(t.array, i-1, i)
	}
}

// Trim forgets what is nil at the end of the array.
func (t *Table) Trim() {
	t.longest = max(t.longest, len(t.array))
	t.array = t.array[:t.Len()]
}

// HadItem reports whether a key is that of an item which the array has, or had.
func (t *Table) HadItem(key Value) bool {
	i, is := arrayIndex(key)
	return is && i < max(t.longest, len(t.array))
}

// Next returns the pair after a key, the first one after nil, or nil after the last one.
func (t *Table) Next(key Value) (Value, Value) {
	at := 0 // in entries
	switch i, isIndex := arrayIndex(key); {
	case key.IsNil(), isIndex:
		if isIndex {
			i++
		}
		for ; i < len(t.array); i++ {
			if v := t.array[i]; !v.IsNil() {
				return Int(i + 1), v
			}
		}
	default:
		at = max(t.find(key), 0) + 1
	}
	for ; at < len(t.entries); at++ {
		if e := &t.entries[at]; !e.value.IsNil() {
			return e.key, e.value
		}
	}
	return Nil, Nil
}

// Room is the number of items and fields that the table has room for.
func (t *Table) Room() int { return cap(t.array) + cap(t.entries) }

// Clear empties the table for another use, with its room.
func (t *Table) Clear() {
	clear(t.array)
	clear(t.entries)
	*t = Table{array: t.array[:0], entries: t.entries[:0]}
}

func (t *Table) find(key Value) int {
	switch {
	case t.index != nil:
		for slot := hash(key) & uint64(len(t.index)-1); t.index[slot] != 0; slot = (slot + 1) & uint64(len(t.index)-1) {
			if at := int(t.index[slot]) - 1; t.entries[at].key.Equal(key) {
				return at
			}
		}
		return -1
	case key.IsString():
		return t.findString(key.Text())
	}
	for i := range t.entries {
		if t.entries[i].key.Equal(key) {
			return i
		}
	}
	return -1
}

func (t *Table) findString(key string) int {
	if t.index != nil {
		return t.find(String(key))
	}
	bits := uint64(StringKind)<<kindShift | uint64(len(key))
	for i := range t.entries {
		if k := &t.entries[i].key; k.bits == bits && k.IsString() && k.Text() == key {
			return i
		}
	}
	return -1
}

func (t *Table) add(key, value Value) {
	t.entries = append(t.entries, entry{key, value})
	n := len(t.entries)
	switch {
	case n <= smallTable:
	case 2*n > len(t.index):
		t.index = make([]uint32, max(4*smallTable, 2*len(t.index)))
		for i := range t.entries {
			t.enter(i)
		}
	default:
		t.enter(n - 1)
	}
}

func (t *Table) enter(at int) {
	slot := hash(t.entries[at].key) & uint64(len(t.index)-1)
	for t.index[slot] != 0 {
		slot = (slot + 1) & uint64(len(t.index)-1)
	}
	t.index[slot] = uint32(at + 1)
}

// seed keeps the places of keys from those who would choose keys that all have the same one.
var seed = maphash.MakeSeed()

func hash(key Value) uint64 {
	switch {
	case key.IsString():
		return maphash.String(seed, key.Text())
	case key.IsNumber():
		if key.Float() == 0 { // also -0
			return 0
		}
		return maphash.Comparable(seed, key.bits)
	}
	return maphash.Comparable(seed, key)
}

// IsWhole reports whether a number is one that a float holds without a fraction, and small enough for an int.
func IsWhole(x float64) bool { return math.Abs(x) < 1<<53 && float64(int64(x)) == x }
