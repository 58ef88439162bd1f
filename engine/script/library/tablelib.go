package library

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/interpreter"
)

var tableFunctions = map[string]lua.LGFunction{
	"concat":   tableConcat,
	"foreach":  tableForEach,
	"foreachi": tableForEachItem,
	"getn":     func(L *lua.LState) int { return interpreter.PushInt(L, interpreter.Of(L).CheckTable(L, 1).Len()) },
	"insert":   tableInsert,
	"maxn":     tableMaxN,
	"remove":   tableRemove,
	"setn": func(L *lua.LState) int {
		interpreter.Of(L).CheckTable(L, 1)
		interpreter.Of(L).Fail(L, "'setn' is obsolete")
		return 0
	},
	"sort": tableSort,
}

func tableConcat(L *lua.LState) int {
	r := interpreter.Of(L)
	separator := r.OptString(L, 2, "")
	t := r.CheckTable(L, 1)
	first := r.OptInt(L, 3, 1)
	last := t.Len()
	if !interpreter.Absent(L, 4) {
		last = r.CheckInt(L, 4)
	}
	var text strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGet(interpreter.NumberValue(float64(i)))
		part, is := interpreter.AsText(v)
		if !is {
			r.Fail(L, "invalid value (%s) at index %d in table for 'concat'", interpreter.TypeName(v), i)
		}
		r.Charge(L, 2+2*(len(part)+len(separator))/interpreter.BytesPerStep)
		text.WriteString(part)
		if i < last {
			text.WriteString(separator)
		}
	}
	return interpreter.PushString(L, text.String())
}

func tableForEach(L *lua.LState) int {
	r := interpreter.Of(L)
	t, f := r.CheckTable(L, 1), r.CheckFunction(L, 2)
	for _, key := range r.PairsOf(L, t) {
		if value := t.RawGet(key); value != lua.LNil {
			if result := interpreter.Call(L, f, key, value); result != lua.LNil {
				L.Push(result)
				return 1
			}
		}
	}
	return 0
}

func tableForEachItem(L *lua.LState) int {
	r := interpreter.Of(L)
	t, f := r.CheckTable(L, 1), r.CheckFunction(L, 2)
	n := t.Len()
	for i := 1; i <= n; i++ {
		r.Charge(L, 2)
		if result := interpreter.Call(L, f, interpreter.NumberValue(float64(i)), t.RawGetInt(i)); result != lua.LNil {
			L.Push(result)
			return 1
		}
	}
	return 0
}

func tableInsert(L *lua.LState) int {
	r := interpreter.Of(L)
	t := r.CheckTable(L, 1)
	n := t.Len()
	switch L.GetTop() {
	case 2:
		r.CheckWritable(L, t)
		r.SetInt(L, t, n+1, L.Get(2))
	case 3:
		at, value := r.CheckInt(L, 2), L.Get(3)
		r.CheckWritable(L, t)
		if at >= 1 && at <= n && value != lua.LNil {
			r.Charge(L, (n-at)/interpreter.SlotsPerStep/4)
			t.Insert(at, value)
			return 0
		}
		for i := n + 1; i > at; i-- {
			r.Charge(L, 3)
			r.Set(L, t, interpreter.NumberValue(float64(i)), t.RawGet(interpreter.NumberValue(float64(i-1))))
		}
		r.Set(L, t, interpreter.NumberValue(float64(at)), value)
	default:
		r.Fail(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

func tableMaxN(L *lua.LState) int {
	r := interpreter.Of(L)
	t := r.CheckTable(L, 1)
	most := 0.0
	for _, key := range r.PairsOf(L, t) {
		if x, is := key.(lua.LNumber); is {
			most = max(most, float64(x))
		}
	}
	return interpreter.PushNumber(L, most)
}

func tableRemove(L *lua.LState) int {
	r := interpreter.Of(L)
	t := r.CheckTable(L, 1)
	n := t.Len()
	at := r.OptInt(L, 2, n)
	if at < 1 || at > n {
		return 0
	}
	r.CheckWritable(L, t)
	value := t.RawGetInt(at)
	r.Charge(L, (n-at)/interpreter.SlotsPerStep/4)
	if at < n {
		t.Remove(at)
		n--
		for left := t.Len(); n > left; n-- {
			t.Remove(n)
		}
	} else {
		r.SetInt(L, t, n, lua.LNil)
	}
	L.Push(value)
	return 1
}

// sorter is the quicksort of the reference implementation, so that an inconsistent order has the same outcome.
type sorter struct {
	L     *lua.LState
	r     *interpreter.Run
	items []lua.LValue
	order *lua.LFunction
}

func tableSort(L *lua.LState) int {
	r := interpreter.Of(L)
	t := r.CheckTable(L, 1)
	s := sorter{L: L, r: r}
	if !interpreter.Absent(L, 2) {
		s.order = r.CheckFunction(L, 2)
	}
	r.CheckWritable(L, t)
	n := t.Len()
	r.Charge(L, n)
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
	s.r.Charge(s.L, 3)
	if s.order == nil {
		if a.Type() != b.Type() { // an error from C has no place
			s.r.Raise(s.L, lua.LString(interpreter.CompareText(interpreter.TypeName(a), interpreter.TypeName(b))))
		}
		return interpreter.Less(s.L, a, b)
	}
	return lua.LVAsBool(interpreter.Call(s.L, s.order, a, b))
}

func (s *sorter) swap(i, j int) {
	if max(i, j) > len(s.items) || min(i, j) < 1 {
		s.r.Fail(s.L, "invalid order function for sorting")
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
				s.r.Fail(s.L, "invalid order function for sorting")
			}
		}
		for j--; s.less(pivot, s.at(j)); j-- {
			if j < low {
				s.r.Fail(s.L, "invalid order function for sorting")
			}
		}
		if j < i {
			s.swap(high-1, i)
			return i
		}
		s.swap(i, j)
	}
}
