package interpreter

import (
	"math"

	"github.com/stintdb/stint/engine/script/value"
)

// Set changes a table, without metamethods. It keeps two promises: the array of a table does not end with nil, so its
// length is found at once; and the run counts the deleted keys that iteration must step over.
func (L *Thread) Set(t *value.Table, key, v value.Value) {
	switch {
	case key.IsString():
		text := key.Text()
		L.Charge(8 + len(text)/BytesPerStep)
		if v.IsNil() && !t.GetString(text).IsNil() {
			L.run.bury(t)
		}
		t.SetString(text, v)
		return
	case key.IsNumber():
		x := key.Float()
		if n := int(x); n > 0 && n < value.MaxIndex && float64(n) == x {
			L.SetInt(t, n, v)
			return
		}
	}
	L.checkKey(key)
	if v.IsNil() && !t.Get(key).IsNil() {
		L.run.bury(t)
	}
	t.Set(key, v)
}

// checkKey raises the error for a key that no table takes.
func (L *Thread) checkKey(key value.Value) {
	switch {
	case key.IsNil():
		L.failHere("table index is nil")
	case key.IsNumber() && math.IsNaN(key.Float()):
		L.failHere("table index is NaN")
	}
}

func (r *Run) bury(t *value.Table) {
	if r.dead == nil {
		r.dead = map[*value.Table]int{}
	}
	r.dead[t]++
}

// SetInt sets an element of the array.
func (L *Thread) SetInt(t *value.Table, i int, v value.Value) {
	n := t.Len()
	switch {
	case !v.IsNil():
		if i > n+1 {
			L.Charge(2 * (i - n))
		}
		t.SetInt(i, v)
	case i < n:
		t.SetInt(i, value.Nil)
	case i == n:
		t.SetInt(n, value.Nil)
		t.Trim()
		L.Charge((n - t.Len()) / SlotsPerStep)
	}
}

// next returns the pair after a key.
func (L *Thread) next(t *value.Table, key value.Value) (value.Value, value.Value) {
	t = t.Shown()
	dead := L.run.dead[t]
	if dead > 0 {
		L.Charge(dead)
	}
	if !key.IsNil() && dead == 0 && t.Get(key).IsNil() && !t.HadItem(key) {
		L.Raise(value.String("invalid key to 'next'"))
	}
	following, v := t.Next(key)
	if following.IsNumber() {
		from, to := 0.0, following.Float()
		if key.IsNumber() {
			from = key.Float()
		}
		if to > from+1 && int(to) < value.MaxIndex {
			L.Charge(int(to-from) / 8)
		}
	}
	return following, v
}

// PairsOf lists the keys of a table in their order.
func (L *Thread) PairsOf(t *value.Table) (keys []value.Value) {
	dead := L.run.dead[t]
	L.Charge(dead)
	delete(L.run.dead, t)
	for key, _ := L.next(t, value.Nil); !key.IsNil(); key, _ = L.next(t, key) {
		L.Charge(5)
		keys = append(keys, key)
	}
	if dead > 0 {
		L.run.dead[t] = dead
	}
	return keys
}

// pairs returns an iterator over the keys that the table has now.
func pairs(L *Thread) int {
	t := L.CheckTable(1)
	keys := L.PairsOf(t)
	inner := t.Shown()
	at := 0
	next := NewFunction(func(L *Thread) int {
		for at < len(keys) {
			key := keys[at]
			at++
			if v := inner.Get(key); !v.IsNil() {
				return L.Push(key) + L.Push(v)
			}
			L.Charge(1)
		}
		return L.Push(value.Nil)
	})
	return L.Push(next) + L.Push(value.OfTable(t)) + L.Push(value.Nil)
}
