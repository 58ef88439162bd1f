package engine

// Tag is the slot of a template's keys, as far as it is known.
type Tag struct {
	// Text has the slot of every key if Varies is false. Otherwise it is the hash tag with its places: two templates of
	// the same text put the keys of one call in one slot, whatever the id and the fields are.
	Text   string
	Varies bool
	// Escaped is whether the values in Text are escaped, like all beside a field: in the same text without, some values
	// differ.
	Escaped bool
}

// HashTag returns the tag of the template's keys. With an id, its bytes stand in the id's place. It returns false if
// values decide the slot: a value outside of a tag does, and one before the tag, since it can have braces of its own.
//
// No text helps against a value that begins with } where the tag begins: the tag is then empty, and counts for nothing.
func (t *Template) HashTag(id []byte, hasID bool) (tag Tag, ok bool) {
	all := t.Elements(id, hasID)
	var text []byte
	places := 0 // before the element
	inTag := false
	for _, e := range all {
		switch {
		case e.IsPlace() && !inTag:
			return Tag{}, false
		case e.IsPlace():
			text = append(append(append(text, '}'), t.openPlace(places, hasID)...), '}') // other than here, a tag has no }
			tag.Varies, tag.Escaped = true, t.hasFields
			places++
		case inTag && e == '}' && len(text) > 1:
			tag.Text = string(append(text, '}'))
			return tag, true
		case inTag && e == '}': // an empty tag is none
			return wholeKey(all)
		case inTag, e == '{':
			text, inTag = append(text, byte(e)), true
		}
	}
	return wholeKey(all)
}

// wholeKey is the tag of keys without braces.
func wholeKey(all []Element) (tag Tag, ok bool) {
	text := make([]byte, len(all))
	for i, e := range all {
		if e.IsPlace() {
			return Tag{}, false
		}
		text[i] = byte(e)
	}
	return Tag{Text: string(text)}, true
}

// openPlace is the name of a place, counted without the place of an id which is known.
func (t *Template) openPlace(number int, hasID bool) string {
	for i := range t.Places {
		if name := t.Places[i].Name; name != "" || !hasID {
			if number == 0 {
				return name
			}
			number--
		}
	}
	return ""
}
