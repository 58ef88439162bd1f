package httpapi

import "fmt"

const _ = uint(64 - maxNames) // fields.asked has a bit for each

// mustNotBeEmpty is about an empty value at any path: it names nobody, and all who send it would share a limit.
const mustNotBeEmpty = "must not be empty; leave it out if there is none"

// fields reads the fields of an object. It keeps the first error; end
// returns it, or names a field that no caller has read.
type fields struct {
	of     *value
	prefix string // of the names in errors
	asked  uint64 // a bit for each field, by its position, of which there are maxNames at most
	err    error
}

func fieldsOf(v *value, prefix string) fields { return fields{of: v, prefix: prefix} }

func (f *fields) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// lookUp returns a field that is there and not null.
func (f *fields) lookUp(name string) *value {
	i := f.of.find(name)
	if i < 0 {
		return nil
	}
	f.asked |= 1 << i
	if v := &f.of.items[i]; v.kind != null {
		return v
	}
	return nil
}

// optional returns a string or number, if it is there.
func (f *fields) optional(name string) (text string, is bool) {
	v := f.lookUp(name)
	if v == nil {
		return "", false
	}
	switch {
	case v.kind != scalar:
		f.note(fmt.Errorf("%s%s: must be a string or a number", f.prefix, name))
	case v.text == "":
		f.note(fmt.Errorf("%s%s: %s", f.prefix, name, mustNotBeEmpty))
	}
	return v.text, true
}

// text returns a string or number that must be there.
func (f *fields) text(name string) string {
	text, is := f.optional(name)
	if !is {
		f.note(fmt.Errorf("%s%s: is missing", f.prefix, name))
	}
	return text
}

// truth returns a truth value, false if it is not there.
func (f *fields) truth(name string) bool {
	text, is := f.optional(name)
	if is && text != "true" && text != "false" {
		f.note(fmt.Errorf("%s%s: must be true or false", f.prefix, name))
	}
	return text == "true"
}

// member returns an array or object, nil if it is not there.
func (f *fields) member(name string, k kind) *value {
	v := f.lookUp(name)
	if v != nil && v.kind != k {
		f.note(fmt.Errorf("%s%s: must be an %s", f.prefix, name, map[kind]string{array: "array", object: "object"}[k]))
		return nil
	}
	return v
}

// end returns the first error, and that of an unknown field if there was no other.
func (f *fields) end() error {
	for i := range f.of.items {
		if f.err == nil && f.asked&(1<<i) == 0 {
			f.err = fmt.Errorf("%s%s: is not a field of this request", f.prefix, clip(f.of.items[i].name))
		}
	}
	return f.err
}
