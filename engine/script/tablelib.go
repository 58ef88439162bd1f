package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var tableFunctions = map[string]lua.LGFunction{
	"concat":   tableConcat,
	"foreach":  tableForEach,
	"foreachi": tableForEachItem,
	"getn":     func(L *lua.LState) int { return pushInt(L, runOf(L).checkTable(L, 1).Len()) },
	"insert":   tableInsert,
	"maxn":     tableMaxN,
	"remove":   tableRemove,
	"setn": func(L *lua.LState) int {
		runOf(L).checkTable(L, 1)
		runOf(L).fail(L, "'setn' is obsolete")
		return 0
	},
	"sort": tableSort,
}

func tableConcat(L *lua.LState) int {
	r := runOf(L)
	separator := r.optString(L, 2, "")
	t := r.checkTable(L, 1)
	first := r.optInt(L, 3, 1)
	last := t.Len()
	if !absent(L, 4) {
		last = r.checkInt(L, 4)
	}
	var text strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGet(numberValue(float64(i)))
		part, is := asText(v)
		if !is {
			r.fail(L, "invalid value (%s) at index %d in table for 'concat'", typeName(v), i)
		}
		r.charge(L, 2+2*(len(part)+len(separator))/bytesPerStep)
		text.WriteString(part)
		if i < last {
			text.WriteString(separator)
		}
	}
	return pushString(L, text.String())
}

func tableForEach(L *lua.LState) int {
	r := runOf(L)
	t, f := r.checkTable(L, 1), r.checkFunction(L, 2)
	for _, key := range r.pairsOf(L, t) {
		if value := t.RawGet(key); value != lua.LNil {
			if result := call(L, f, key, value); result != lua.LNil {
				L.Push(result)
				return 1
			}
		}
	}
	return 0
}

func tableForEachItem(L *lua.LState) int {
	r := runOf(L)
	t, f := r.checkTable(L, 1), r.checkFunction(L, 2)
	n := t.Len()
	for i := 1; i <= n; i++ {
		r.charge(L, 2)
		if result := call(L, f, numberValue(float64(i)), t.RawGetInt(i)); result != lua.LNil {
			L.Push(result)
			return 1
		}
	}
	return 0
}

func tableInsert(L *lua.LState) int {
	r := runOf(L)
	t := r.checkTable(L, 1)
	n := t.Len()
	switch L.GetTop() {
	case 2:
		r.checkWritable(L, t)
		r.setInt(L, t, n+1, L.Get(2))
	case 3:
		at, value := r.checkInt(L, 2), L.Get(3)
		r.checkWritable(L, t)
		if at >= 1 && at <= n && value != lua.LNil {
			r.charge(L, (n-at)/slotsPerStep/4)
			t.Insert(at, value)
			return 0
		}
		for i := n + 1; i > at; i-- {
			r.charge(L, 3)
			r.set(L, t, numberValue(float64(i)), t.RawGet(numberValue(float64(i-1))))
		}
		r.set(L, t, numberValue(float64(at)), value)
	default:
		r.fail(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

func tableMaxN(L *lua.LState) int {
	r := runOf(L)
	t := r.checkTable(L, 1)
	most := 0.0
	for _, key := range r.pairsOf(L, t) {
		if x, is := key.(lua.LNumber); is {
			most = max(most, float64(x))
		}
	}
	return pushNumber(L, most)
}

func tableRemove(L *lua.LState) int {
	r := runOf(L)
	t := r.checkTable(L, 1)
	n := t.Len()
	at := r.optInt(L, 2, n)
	if at < 1 || at > n {
		return 0
	}
	r.checkWritable(L, t)
	value := t.RawGetInt(at)
	r.charge(L, (n-at)/slotsPerStep/4)
	if at < n {
		t.Remove(at)
		n--
		for left := t.Len(); n > left; n-- {
			t.Remove(n)
		}
	} else {
		r.setInt(L, t, n, lua.LNil)
	}
	L.Push(value)
	return 1
}

// sorter is the quicksort of the reference implementation, so that an inconsistent order has the same outcome.
type sorter struct {
	L     *lua.LState
	r     *run
	items []lua.LValue
	order *lua.LFunction
}

func tableSort(L *lua.LState) int {
	r := runOf(L)
	t := r.checkTable(L, 1)
	s := sorter{L: L, r: r}
	if !absent(L, 2) {
		s.order = r.checkFunction(L, 2)
	}
	r.checkWritable(L, t)
	n := t.Len()
	r.charge(L, n)
	for i := 1; i <= n; i++ {
		s.items = append(s.items, t.RawGetInt(i))
	}
	s.sort(1, n)
	for i, value := range s.items {
		t.RawSetInt(i+1, value)
	}
	return 0
}

func (s *sorter) at(i int) lua.LValue {
	if i < 1 || i > len(s.items) {
		return lua.LNil
	}
	return s.items[i-1]
}

func (s *sorter) less(a, b lua.LValue) bool {
	s.r.charge(s.L, 3)
	if s.order == nil {
		if a.Type() != b.Type() { // an error from C has no place
			s.r.raise(s.L, lua.LString(compareText(typeName(a), typeName(b))))
		}
		return less(s.L, a, b)
	}
	return lua.LVAsBool(call(s.L, s.order, a, b))
}

func (s *sorter) swap(i, j int) {
	if max(i, j) > len(s.items) || min(i, j) < 1 {
		s.r.fail(s.L, "invalid order function for sorting")
	}
	s.items[i-1], s.items[j-1] = s.items[j-1], s.items[i-1]
}

func (s *sorter) sort(low, high int) {
	for low < high {
		if s.less(s.at(high), s.at(low)) {
			s.swap(low, high)
		}
		if high-low == 1 {
			return
		}
		i := (low + high) / 2
		if s.less(s.at(i), s.at(low)) {
			s.swap(i, low)
		} else if s.less(s.at(high), s.at(i)) {
			s.swap(i, high)
		}
		if high-low == 2 {
			return
		}
		pivot := s.at(i)
		s.swap(i, high-1)
		i = s.partition(low, high, pivot)
		if i-low < high-i {
			s.sort(low, i-1)
			low = i + 1
		} else {
			s.sort(i+1, high)
			high = i - 1
		}
	}
}

func (s *sorter) partition(low, high int, pivot lua.LValue) int {
	i, j := low, high-1
	for {
		for i++; s.less(s.at(i), pivot); i++ {
			if i > high {
				s.r.fail(s.L, "invalid order function for sorting")
			}
		}
		for j--; s.less(pivot, s.at(j)); j-- {
			if j < low {
				s.r.fail(s.L, "invalid order function for sorting")
			}
		}
		if j < i {
			s.swap(high-1, i)
			return i
		}
		s.swap(i, j)
	}
}
