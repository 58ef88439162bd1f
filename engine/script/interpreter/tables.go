package interpreter

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// Set changes a table, without metamethods. It keeps two promises: the array of a table does not end with nil, so its
// length is found at once; and r.dead counts the keys that iteration must step over.
func (r *Run) Set(L *lua.LState, t *lua.LTable, key, value lua.LValue) {
	switch k := key.(type) {
	case lua.LString:
		r.Charge(L, 8+len(k)/BytesPerStep)
		if value == lua.LNil {
			if t.RawGetString(string(k)) != lua.LNil {
				r.bury(t)
			}
		}
		t.RawSetString(string(k), value)
		return
	case lua.LNumber:
		if n := int(k); n > 0 && n < lua.MaxArrayIndex && lua.LNumber(n) == k {
			r.SetInt(L, t, n, value)
			return
		}
		if math.IsNaN(float64(k)) {
			r.Fail(L, "table index is NaN")
		}
	case *lua.LNilType:
		r.Fail(L, "table index is nil")
	}
	if value == lua.LNil && t.RawGet(key) != lua.LNil {
		r.bury(t)
	}
	t.RawSet(key, value)
}

func (r *Run) bury(t *lua.LTable) {
	if r.dead == nil {
		r.dead = map[*lua.LTable]int{}
	}
	r.dead[t]++
}

// SetInt sets an element of the array.
func (r *Run) SetInt(L *lua.LState, t *lua.LTable, i int, value lua.LValue) {
	n := t.Len()
	switch {
	case value != lua.LNil:
		if i > n+1 {
			r.Charge(L, 2*(i-n))
		}
		t.RawSetInt(i, value)
	case i < n:
		t.RawSetInt(i, lua.LNil)
	case i == n:
		t.RawSetInt(n, lua.LNil)
		left := t.Len()
		r.Charge(L, (n-left)/SlotsPerStep)
		for ; n > left; n-- {
			t.Remove(n)
		}
	}
}

// setItems puts the last values of a constructor into its table: table or nil, number of items before, values.
func setItems(L *lua.LState) int {
	r := Of(L)
	start, n := int(L.Get(2).(lua.LNumber)), L.GetTop()
	r.Charge(L, n/SlotsPerStep)
	for n > 2 && L.Get(n) == lua.LNil {
		n--
	}
	t, is := L.Get(1).(*lua.LTable)
	if !is {
		t = NewTable(n-2, 0)
	}
	for i := 3; i <= n; i++ {
		t.RawSetInt(start+i-2, L.Get(i))
	}
	L.Push(t)
	return 1
}

// setFields puts pairs of a constructor into its table: table, key, value, key, value. Items without a key win.
func setFields(L *lua.LState) int {
	r := Of(L)
	t := L.Get(1).(*lua.LTable)
	items := lua.LNumber(t.Len())
	for i := 2; i < L.GetTop(); i += 2 {
		key := L.Get(i)
		if k, is := key.(lua.LNumber); is && k >= 1 && k <= items && t.RawGet(key) != lua.LNil {
			continue
		}
		r.Set(L, t, key, L.Get(i+1))
	}
	L.Push(t)
	return 1
}

// next returns the pair after a key.
func (r *Run) next(L *lua.LState, t *lua.LTable, key lua.LValue) (lua.LValue, lua.LValue) {
	if inner := readOnly[t]; inner != nil {
		t = inner
	}
	if n := r.dead[t]; n > 0 {
		r.Charge(L, n)
	}
	if key != lua.LNil && r.dead[t] == 0 && t.RawGet(key) == lua.LNil {
		if i, is := key.(lua.LNumber); !is || i < 1 || int(i) > t.Len() {
			r.Raise(L, lua.LString("invalid key to 'next'"))
		}
	}
	following, value := t.Next(key)
	if to, is := following.(lua.LNumber); is {
		from, _ := key.(lua.LNumber)
		if to > from+1 && int(to) < lua.MaxArrayIndex {
			r.Charge(L, int(to-from)/8)
		}
	}
	return following, value
}

// PairsOf lists the keys of a table in their order.
func (r *Run) PairsOf(L *lua.LState, t *lua.LTable) (keys []lua.LValue) {
	dead := r.dead[t]
	r.Charge(L, dead)
	delete(r.dead, t)
	for key, _ := r.next(L, t, lua.LNil); key != lua.LNil; key, _ = r.next(L, t, key) {
		r.Charge(L, 5)
		keys = append(keys, key)
	}
	if dead > 0 {
		r.dead[t] = dead
	}
	return keys
}

// pairs returns an iterator over the keys that the table has now.
func pairs(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	keys := r.PairsOf(L, t)
	inner := t
	if readOnly[t] != nil {
		inner = readOnly[t]
	}
	at := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		for at < len(keys) {
			key := keys[at]
			at++
			if value := inner.RawGet(key); value != lua.LNil {
				L.Push(key)
				L.Push(value)
				return 2
			}
			Of(L).Charge(L, 1)
		}
		L.Push(lua.LNil)
		return 1
	}))
	L.Push(t)
	L.Push(lua.LNil)
	return 3
}

// ipairs returns the shared iterator over an array.
func ipairs(L *lua.LState) int {
	t := Of(L).CheckTable(L, 1)
	L.Push(ipairsNext)
	L.Push(t)
	L.Push(smallNumbers[0])
	return 3
}

func nextItem(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	i := r.CheckInt(L, 2) + 1
	value := t.RawGet(NumberValue(float64(i)))
	if value == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(NumberValue(float64(i)))
	L.Push(value)
	return 2
}

// NewTable makes a table with room for items and fields; gopher-lua makes much room in one that is not made for a
// number.
func NewTable(items, fields int) *lua.LTable { return (*lua.LState)(nil).CreateTable(items, fields) }
