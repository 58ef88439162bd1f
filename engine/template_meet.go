package engine

// Element is a byte of a key, or a place in a template.
type Element uint16

const (
	anyPlace     Element = 256 + iota // for any bytes
	escapedPlace                      // for bytes without a colon
)

// IsPlace reports whether values stand there.
func (e Element) IsPlace() bool { return e >= anyPlace }

// holds reports whether a place can hold a byte.
func (e Element) holds(b Element) bool { return e == anyPlace || e == escapedPlace && b != ':' }

// Elements are the template's, its places for an id and for fields as they are. With an id, its bytes stand in the id's
// place.
func (t *Template) Elements(id []byte, hasID bool) (all []Element) {
	all = make([]Element, 0, len(t.Text)+len(t.Places)+len(id))
	literal := func(text []byte) {
		for _, c := range text {
			all = append(all, Element(c))
		}
	}
	at := 0
	for _, p := range t.Places {
		literal(t.Text[at:p.at])
		at = p.at
		switch {
		case p.Name == "" && hasID && t.hasFields:
			literal(appendEscaped(nil, id))
		case p.Name == "" && hasID:
			literal(id)
		case t.hasFields:
			all = append(all, escapedPlace)
		default:
			all = append(all, anyPlace)
		}
	}
	literal(t.Text[at:])
	return all
}

// maxMeetWork bounds the comparison of two templates, whose lengths are multiplied. Longer ones count as if they could
// meet.
const maxMeetWork = 1 << 14

// Meet reports whether values exist that make two templates one key. They may be other values in each: those of two
// callers.
func Meet(a, b []Element) bool {
	for len(a) > 0 && len(b) > 0 && !a[0].IsPlace() && !b[0].IsPlace() {
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && !a[len(a)-1].IsPlace() && !b[len(b)-1].IsPlace() {
		if a[len(a)-1] != b[len(b)-1] {
			return false
		}
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if (len(a)+1)*(len(b)+1) > maxMeetWork {
		return true
	}
	// here[j] is whether the elements of a before the current one and the elements of b before j can stand for the same
	// bytes.
	here, next := make([]bool, len(b)+1), make([]bool, len(b)+1)
	here[0] = true
	for i := 0; ; i++ {
		for j, other := range b {
			skips := other.IsPlace() || i < len(a) && a[i].holds(other)
			here[j+1] = here[j+1] || here[j] && skips
		}
		if i == len(a) {
			return here[len(b)]
		}
		clear(next)
		for j := range here {
			switch {
			case !here[j]:
			case a[i].IsPlace():
				next[j] = true
			case j < len(b) && b[j] == a[i]:
				next[j+1] = true
			case j < len(b) && b[j].holds(a[i]):
				next[j] = true
			}
		}
		here, next = next, here
	}
}
