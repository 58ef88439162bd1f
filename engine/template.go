package engine

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stintdb/stint/engine/limits"
)

// Placeholder stands for the caller's id in the keys, and the holders, of a policy.
const Placeholder = "{}"

const (
	// MaxFields bounds the fields of a check, and the fields that a policy's limits ask for.
	MaxFields = 16
	// MaxFieldName bounds the bytes of a field's name.
	MaxFieldName = 64
)

// Template is text with places for the caller's id and for fields of the call.
//
// With [NamedFields], {name} is the place of a field, and {{ and }} are literal braces. In a template with a field,
// values are escaped so that they hold no colon, and there is a colon in the text between any two places: a key then
// shows where each value ends, and different values make different keys. Without NamedFields, as in format version 1,
// only the first {} is a place, and all other braces are literal.
type Template struct {
	Text      []byte // without the places
	Places    []placeholder
	hasFields bool
}

// placeholder is a place in the text of a template.
type placeholder struct {
	at   int    // the length of the text before it
	Name string // of the field; "" for the caller's id
}

func (p placeholder) String() string { return "{" + p.Name + "}" }

// HasNames reports whether a key, or holder, means something else with [NamedFields] than without.
func HasNames(text []byte) bool {
	before, after, _ := bytes.Cut(text, []byte(Placeholder))
	return bytes.ContainsAny(before, "{}") || bytes.ContainsAny(after, "{}")
}

// Reasons to refuse a template.
var (
	errBraces        = fmt.Errorf("each { needs a }, with at most %d letters, digits, _ and - between them; {{ and }} are literal braces", MaxFieldName)
	errTooManyFields = fmt.Errorf("at most %d fields in the limits of a policy", MaxFields)
)

// ParseTemplate reads a template as RL.POLICY SET takes it, and as Store.Policy in package store shows it.
func ParseTemplate(text []byte) (Template, error) { return ReadTemplate(text, true) }

// ReadTemplate reads a template. With an error, the template ends where it lies.
func ReadTemplate(text []byte, named bool) (t Template, err error) {
	if !named {
		before, after, found := bytes.Cut(text, []byte(Placeholder))
		t.Text = slices.Concat(before, after)
		if found {
			t.Places = []placeholder{{at: len(before)}}
		}
		return t, nil
	}
	t.Text = make([]byte, 0, len(text))
	for len(text) > 0 {
		c := text[0]
		text = text[1:]
		switch {
		case c != '{' && c != '}':
			t.Text = append(t.Text, c)
		case len(text) > 0 && text[0] == c:
			t.Text, text = append(t.Text, c), text[1:]
		default:
			name, rest, closed := bytes.Cut(text, []byte("}"))
			if c == '}' || !closed || len(name) > 0 && !IsFieldName(name) {
				return t, errBraces
			}
			t.Places, text = append(t.Places, placeholder{len(t.Text), string(name)}), rest
			t.hasFields = t.hasFields || len(name) > 0
		}
	}
	return t, t.checkPlaces()
}

// checkPlaces returns an error if a place is there twice, or values could be joined into each other.
func (t *Template) checkPlaces() error {
	for i, p := range t.Places {
		if slices.ContainsFunc(t.Places[:i], func(q placeholder) bool { return q.Name == p.Name }) {
			return fmt.Errorf("%s may stand only once", p)
		}
		if i > 0 && bytes.IndexByte(t.Text[t.Places[i-1].at:p.at], ':') < 0 {
			return fmt.Errorf("a : must stand between %s and %s", t.Places[i-1], p)
		}
	}
	return nil
}

// WhoTemplate reads the holder or member of a policy's limit, with [NamedFields] or without. The assured rate of a
// class is no text: it is literal.
func (o *Op) WhoTemplate(named bool) (Template, error) {
	if o.Limit.Algorithm == limits.Class {
		return Template{Text: slices.Clone(o.Who)}, nil
	}
	return ReadTemplate(o.Who, named)
}

// CheckTemplates returns the first key or holder of a SetPolicy or SetOverride that cannot be kept, and why.
func (o *Op) CheckTemplates() (text []byte, err error) {
	if o.Options&NamedFields == 0 {
		return nil, nil
	}
	var fields []string
	for i := range o.Parts {
		p := &o.Parts[i]
		key, keyErr := ReadTemplate(p.Key, true)
		who, whoErr := p.WhoTemplate(true)
		if keyErr != nil {
			return p.Key, keyErr
		}
		if whoErr != nil {
			return p.Who, whoErr
		}
		for _, t := range []Template{key, who} {
			for _, p := range t.Places {
				if p.Name != "" && !slices.Contains(fields, p.Name) {
					fields = append(fields, p.Name)
				}
			}
			if len(fields) > MaxFields {
				return p.Key, errTooManyFields
			}
		}
	}
	return nil, nil
}

// IsFieldName reports whether a field can have the name.
func IsFieldName(name []byte) bool {
	for _, c := range name {
		isLetter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !isLetter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= MaxFieldName
}

// AppendTo appends the text with values in its places: the caller's id, and fields, a list of names and values by
// turns. It returns the name of the first field that is missing, and leaves the places of missing ones as they stand.
func (t *Template) AppendTo(b, id []byte, fields [][]byte) (filled []byte, missing string) {
	at := 0
	for i := range t.Places {
		p := &t.Places[i]
		b = append(b, t.Text[at:p.at]...)
		at = p.at
		value, found := id, true
		if p.Name != "" {
			value, found = FieldOf(fields, p.Name)
		}
		switch {
		case !found:
			b = append(append(append(b, '{'), p.Name...), '}')
			if missing == "" {
				missing = p.Name
			}
		case t.hasFields:
			b = appendEscaped(b, value)
		default:
			b = append(b, value...)
		}
	}
	return append(b, t.Text[at:]...), missing
}

// FieldOf is the value of a field of a check, whose fields are names and values in turn.
func FieldOf(fields [][]byte, name string) (value []byte, found bool) {
	for i := 0; i+1 < len(fields); i += 2 {
		if string(fields[i]) == name {
			return fields[i+1], true
		}
	}
	return nil, false
}

// appendEscaped appends a value without colons. Different values stay different.
func appendEscaped(b, value []byte) []byte {
	for _, c := range value {
		switch c {
		case '%':
			b = append(b, "%25"...)
		case ':':
			b = append(b, "%3A"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// Values is the id and the fields, names and values by turns, that make a key or holder of the template. ok is false if
// none do.
func (t *Template) Values(key []byte) (id []byte, fields [][]byte, ok bool) {
	rest, found := bytes.CutPrefix(key, t.Text[:t.end(0)])
	for i, p := range t.Places {
		between := t.Text[p.at:t.end(i+1)]
		size := len(rest) - len(between) // of the last value
		if i+1 < len(t.Places) {
			size = bytes.IndexByte(rest, ':') - bytes.IndexByte(between, ':')
		}
		if !found || size < 0 || !bytes.HasPrefix(rest[size:], between) {
			return nil, nil, false
		}
		value := rest[:size]
		if rest = rest[size+len(between):]; t.hasFields {
			value = unescape(value)
		}
		if p.Name == "" {
			id = value
		} else {
			fields = append(fields, []byte(p.Name), value)
		}
	}
	return id, fields, found && len(rest) == 0
}

// end is the length of the text before a place, or of all of it.
func (t *Template) end(place int) int {
	if place < len(t.Places) {
		return t.Places[place].at
	}
	return len(t.Text)
}

// unescape is what appendEscaped made value of.
func unescape(value []byte) []byte {
	value = bytes.ReplaceAll(value, []byte("%3A"), []byte(":"))
	return bytes.ReplaceAll(value, []byte("%25"), []byte("%"))
}

// IsShared reports whether all callers come to the same text.
func (t *Template) IsShared() bool { return len(t.Places) == 0 }

// AsksFor reports whether a field has a place.
func (t *Template) AsksFor(name []byte) bool {
	for i := range t.Places {
		if t.Places[i].Name == string(name) && len(name) > 0 {
			return true
		}
	}
	return false
}

// Written is the template as it is parsed, with NamedFields or without.
func (t *Template) Written(named bool) []byte {
	var b []byte
	at := 0
	literal := func(to int) {
		for _, c := range t.Text[at:to] {
			if b = append(b, c); named && (c == '{' || c == '}') {
				b = append(b, c)
			}
		}
		at = to
	}
	for _, p := range t.Places {
		literal(p.at)
		b = append(b, p.String()...)
	}
	literal(len(t.Text))
	return b
}

// Bytes is about the memory of the template's texts.
func (t *Template) Bytes() int {
	n := len(t.Text)
	if t.hasFields {
		for _, p := range t.Places {
			n += placeholderBytes + len(p.Name)
		}
	}
	return n
}

const placeholderBytes = 32 // of a placeholder, without its name

// HasNames reports whether a SetPolicy or SetOverride means something else with [NamedFields] than without.
func (o *Op) HasNames() bool {
	return slices.ContainsFunc(o.Parts, func(p Op) bool { return HasNames(p.Key) || p.Limit.Algorithm != limits.Class && HasNames(p.Who) })
}
