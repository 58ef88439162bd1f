package testmodel

import (
	"slices"
	"strings"
)

const mostFields, mostFieldName = 16, 64

// piece is a part of a template: text, or a place for the caller's id (the name is empty) or for a field.
type piece struct {
	text  string
	place bool
}

// pieces takes a template apart.
func pieces(template string) (all []piece, ok bool) {
	for template != "" {
		at := strings.IndexAny(template, "{}")
		switch {
		case at < 0:
			return append(all, piece{text: template}), true
		case at > 0:
			all, template = append(all, piece{text: template[:at]}), template[at:]
		case strings.HasPrefix(template, "{{") || strings.HasPrefix(template, "}}"):
			all, template = append(all, piece{text: template[:1]}), template[2:]
		default:
			end := strings.IndexByte(template, '}')
			if end < 1 || end > 1 && !isFieldName(template[1:end]) {
				return nil, false
			}
			all, template = append(all, piece{text: template[1:end], place: true}), template[end+1:]
		}
	}
	return all, true
}

func isFieldName(name string) bool {
	return name != "" && len(name) <= mostFieldName && strings.Trim(name, letters+"0123456789_-") == ""
}

// checkTemplates checks the keys and holders of a policy's limits.
func checkTemplates(limits []request) error {
	var fields []string
	for _, r := range limits {
		for _, text := range []string{r.key, r.holder} {
			got := text[:min(64, len(text))]
			all, ok := pieces(text)
			if !ok {
				return refuse("ERR spec: each { needs a }, with at most 64 letters, digits, _ and - between them; {{ and }} are literal braces, got '%s'", got)
			}
			var before []string // places
			colon := true       // since the last place
			for _, p := range all {
				switch {
				case !p.place:
					colon = colon || strings.Contains(p.text, ":")
					continue
				case slices.Contains(before, p.text):
					return refuse("ERR spec: {%s} may stand only once, got '%s'", p.text, got)
				case !colon:
					return refuse("ERR spec: a : must stand between {%s} and {%s}, got '%s'", before[len(before)-1], p.text, got)
				}
				before, colon = append(before, p.text), false
				if p.text != "" && !slices.Contains(fields, p.text) {
					fields = append(fields, p.text)
				}
			}
			if len(fields) > mostFields {
				return refuse("ERR spec: at most %d fields in the limits of a policy, got '%s'", mostFields, got)
			}
		}
	}
	return nil
}

// fill puts a caller's id and fields into a template. With fields, values hold no colon.
func fill(template, id string, fields []string) (string, error) {
	all, _ := pieces(template)
	value := func(text string) string { return text }
	if slices.ContainsFunc(all, func(p piece) bool { return p.place && p.text != "" }) {
		value = strings.NewReplacer("%", "%25", ":", "%3A").Replace
	}
	filled := ""
	for _, p := range all {
		switch at := fieldAt(fields, p.text); {
		case !p.place:
			filled += p.text
		case p.text == "":
			filled += value(id)
		case at < 0:
			return "", refuse("ERR WITH: the policy needs the field '%s'", p.text)
		default:
			filled += value(fields[at+1])
		}
	}
	return filled, nil
}

// fieldAt is the position of a field's name among names and values, -1 if it is not there.
func fieldAt(fields []string, name string) int {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			return i
		}
	}
	return -1
}

// readFields reads names and values, by turns.
func (r *request) readFields(words []string) error {
	if len(words) == 0 || len(words)%2 > 0 {
		return refuse("ERR WITH: must be the last option, followed by the names of fields, each with a value")
	}
	if len(words) > 2*mostFields {
		return refuse("ERR WITH: at most %d fields", mostFields)
	}
	for i := 0; i < len(words); i += 2 {
		name, value := words[i], words[i+1]
		switch {
		case !isFieldName(name):
			return refuse("ERR WITH: a field's name must be 1 to %d letters, digits, _ and -, got '%s'", mostFieldName, name[:min(64, len(name))])
		case value == "":
			return refuse("ERR WITH: the value of the field '%s' must not be empty", name)
		case len(value) > mostKey:
			return refuse("ERR WITH: the value of the field '%s': at most %d bytes (--max-key-size), got %d", name, mostKey, len(value))
		case fieldAt(words[:i], name) >= 0:
			return refuse("ERR WITH: the field '%s' is given twice", name)
		}
	}
	r.fields = words
	return nil
}

// asks are the fields that the policy's own limits, or a caller's limits, ask for.
func (p *policy) asks(id string) (names []string) {
	for _, r := range slices.Concat(p.limits, p.limitsFor(id)) {
		for _, text := range []string{r.key, r.holder} {
			all, _ := pieces(text)
			for _, piece := range all {
				if piece.place && piece.text != "" && !slices.Contains(names, piece.text) {
					names = append(names, piece.text)
				}
			}
		}
	}
	return names
}

// checkFields refuses a field that nobody asks for.
func (p *policy) checkFields(id string, fields []string) error {
	for i := 0; i < len(fields); i += 2 {
		if !slices.Contains(p.asks(id), fields[i]) {
			return refuse("ERR WITH: no limit of the policy asks for the field '%s'", fields[i])
		}
	}
	return nil
}

// symbols are the bytes of a template, and -1 for a place of any bytes, -2 for one of bytes without a colon. With an
// id, its bytes are in its place.
func symbols(template string, id *string) (all []int) {
	parts, _ := pieces(template)
	hasFields := slices.ContainsFunc(parts, func(p piece) bool { return p.place && p.text != "" })
	for _, p := range parts {
		text := p.text
		switch {
		case p.place && (text != "" || id == nil):
			place := -1
			if hasFields {
				place = -2
			}
			all = append(all, place)
			continue
		case p.place && hasFields:
			text = strings.NewReplacer("%", "%25", ":", "%3A").Replace(*id)
		case p.place:
			text = *id
		}
		for _, b := range []byte(text) {
			all = append(all, int(b))
		}
	}
	return all
}

// meet reports whether two templates can be one key.
func meet(a, b []int) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	takes := func(place, symbol int) bool { return symbol < 0 || place == -1 || symbol != ':' }
	switch {
	case len(a) > 0 && a[0] < 0:
		return meet(a[1:], b) || len(b) > 0 && takes(a[0], b[0]) && meet(a, b[1:])
	case len(b) > 0 && b[0] < 0:
		return meet(a, b[1:]) || len(a) > 0 && takes(b[0], a[0]) && meet(a[1:], b)
	}
	return len(a) > 0 && len(b) > 0 && a[0] == b[0] && meet(a[1:], b[1:])
}
