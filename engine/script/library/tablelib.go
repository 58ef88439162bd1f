package library

import (
	"strings"

	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

var tableFunctions = map[string]interpreter.GoFunction{
	"concat":   tableConcat,
	"foreach":  tableForEach,
	"foreachi": tableForEachItem,
	"getn":     func(L *interpreter.Thread) int { return L.PushInt(L.CheckTable(1).Len()) },
	"insert":   tableInsert,
	"maxn":     tableMaxN,
	"remove":   tableRemove,
	"setn": func(L *interpreter.Thread) int {
		L.CheckTable(1)
		L.Fail("'setn' is obsolete")
		return 0
	},
	"sort": tableSort,
}

func tableConcat(L *interpreter.Thread) int {
	separator := L.OptString(2, "")
	t := L.CheckTable(1)
	first := L.OptInt(3, 1)
	last := t.Len()
	if !L.Absent(4) {
		last = L.CheckInt(4)
	}
	var text strings.Builder
	for i := first; i <= last; i++ {
		v := t.Get(value.Int(i))
		part, is := value.AsText(v)
		if !is {
			L.Fail("invalid value (%s) at index %d in table for 'concat'", v.Kind().String(), i)
		}
		L.Charge(2 + 2*(len(part)+len(separator))/interpreter.BytesPerStep)
		text.WriteString(part)
		if i < last {
			text.WriteString(separator)
		}
	}
	return L.PushString(text.String())
}

func tableForEach(L *interpreter.Thread) int {
	t, f := L.CheckTable(1), L.CheckFunction(2)
	for _, key := range L.PairsOf(t) {
		if value := t.Get(key); !value.IsNil() {
			if result := L.Call(f, key, value); !result.IsNil() {
				return L.Push(result)
			}
		}
	}
	return 0
}

func tableForEachItem(L *interpreter.Thread) int {
	t, f := L.CheckTable(1), L.CheckFunction(2)
	n := t.Len()
	for i := 1; i <= n; i++ {
		L.Charge(2)
		if result := L.Call(f, value.Int(i), t.GetInt(i)); !result.IsNil() {
			return L.Push(result)
		}
	}
	return 0
}

func tableInsert(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	n := t.Len()
	switch L.Top() {
	case 2:
		L.CheckWritable(t)
		L.SetInt(t, n+1, L.Get(2))
	case 3:
		at, v := L.CheckInt(2), L.Get(3)
		L.CheckWritable(t)
		if at >= 1 && at <= n && !v.IsNil() {
			L.Charge((n - at) / interpreter.SlotsPerStep / 4)
			t.Insert(at, v)
			return 0
		}
		for i := n + 1; i > at; i-- {
			L.Charge(3)
			L.Set(t, value.Int(i), t.Get(value.Int(i-1)))
		}
		L.Set(t, value.Int(at), v)
	default:
		L.Fail("wrong number of arguments to 'insert'")
	}
	return 0
}

func tableMaxN(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	most := 0.0
	for _, key := range L.PairsOf(t) {
		if key.IsNumber() {
			most = max(most, key.Float())
		}
	}
	return L.PushNumber(most)
}

func tableRemove(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	n := t.Len()
	at := L.OptInt(2, n)
	if at < 1 || at > n {
		return 0
	}
	L.CheckWritable(t)
	v := t.GetInt(at)
	L.Charge((n - at) / interpreter.SlotsPerStep / 4)
	if at < n {
		t.Remove(at)
		t.Trim()
	} else {
		L.SetInt(t, n, value.Nil)
	}
	return L.Push(v)
}

// sorter is the quicksort of the reference implementation, so that an inconsistent order has the same outcome.
type sorter struct {
	L     *interpreter.Thread
	items []value.Value
	order value.Value
}

func tableSort(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	s := sorter{L: L}
	if !L.Absent(2) {
		s.order = L.CheckFunction(2)
	}
	L.CheckWritable(t)
	n := t.Len()
	L.Charge(n)
	for i := 1; i <= n; i++ {
		s.items = append(s.items, t.GetInt(i))
	}
	s.sort(1, n)
	for i, v := range s.items {
		t.SetInt(i+1, v)
	}
	return 0
}

func (s *sorter) at(i int) value.Value {
	if i < 1 || i > len(s.items) {
		return value.Nil
	}
	return s.items[i-1]
}

func (s *sorter) less(a, b value.Value) bool {
	s.L.Charge(3)
	if s.order.IsNil() {
		return s.L.Less(a, b)
	}
	return s.L.Call(s.order, a, b).IsTrue()
}

func (s *sorter) swap(i, j int) {
	if max(i, j) > len(s.items) || min(i, j) < 1 {
		s.L.Fail("invalid order function for sorting")
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

func (s *sorter) partition(low, high int, pivot value.Value) int {
	i, j := low, high-1
	for {
		for i++; s.less(s.at(i), pivot); i++ {
			if i > high {
				s.L.Fail("invalid order function for sorting")
			}
		}
		for j--; s.less(pivot, s.at(j)); j-- {
			if j < low {
				s.L.Fail("invalid order function for sorting")
			}
		}
		if j < i {
			s.swap(high-1, i)
			return i
		}
		s.swap(i, j)
	}
}
