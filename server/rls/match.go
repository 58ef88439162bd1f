package rls

import "strings"

// Entry is one key and value of a descriptor in a request.
type Entry struct{ Key, Value string }

// match is the rule of a descriptor in a request.
type match struct {
	rule   *Rule          // nil if nothing limits it
	shared map[int]string // patterns that stand for the values of entries, by position; nil for none
}

// namesNobody reports whether the rule is a policy, and the entries lack the caller's id or a field, or their value is
// empty. An empty value must lead neither to a limit that others share, nor to no limit.
func (m *match) namesNobody(entries []Entry) bool {
	if m.rule == nil || m.rule.Policy == "" {
		return false
	}
	if entries[len(entries)-1].Value == "" {
		return true
	}
	for _, name := range m.rule.With {
		if valueOf(entries, name) == "" {
			return true
		}
	}
	return false
}

// valueOf returns the value of the last entry with a key, "" if there is none.
func valueOf(entries []Entry, key string) (value string) {
	for _, e := range entries {
		if e.Key == key {
			value = e.Value
		}
	}
	return value
}

// match finds the rule of a descriptor level by level. It prefers an exact value to a wildcard, and a wildcard to no
// value.
func (d *domain) match(entries []Entry) (m match) {
	at := &d.node
	for i, e := range entries {
		v := at.children[e.Key]
		if v == nil {
			return match{}
		}
		if at = v.find(e.Value); at == nil {
			return match{}
		}
		if at.shared != "" && at.shared != e.Value {
			if m.shared == nil {
				m.shared = map[int]string{}
			}
			m.shared[i] = at.shared
		}
	}
	if at != &d.node {
		m.rule = at.rule
	}
	return m
}

func (v *values) find(value string) *node {
	if n := v.exact[value]; n != nil {
		return n
	}
	for i := range v.wildcards {
		if v.wildcards[i].matches(value) {
			return v.wildcards[i].node
		}
	}
	return v.any
}

// matches reports whether the value consists of the parts in their order, with anything in between.
func (w *wildcard) matches(value string) bool {
	first, last := w.parts[0], w.parts[len(w.parts)-1]
	if len(value) < len(first)+len(last) || !strings.HasPrefix(value, first) || !strings.HasSuffix(value, last) {
		return false
	}
	rest := value[len(first) : len(value)-len(last)]
	for _, part := range w.parts[1 : len(w.parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return true
}
