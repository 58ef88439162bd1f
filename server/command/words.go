package command

import (
	"fmt"
	"strconv"
	"strings"
)

// Words builds a command for a caller of another protocol than Redis's. Each method appends one kind of value, so that
// no value can be mistaken for another: words of the grammar come from the program alone, numbers must be digits, and
// other data is only allowed where a command takes any text. [Words.Err] returns the first mistake.
type Words struct {
	list [][]byte
	text []byte // buffer for the words
	err  error
	with bool // fields have begun, and nothing else may follow
}

// Keyword is a word of the grammar. It must be a constant of the program, never text from outside.
type Keyword string

// The size that most commands need.
const (
	usualWords = 8
	usualText  = 64
)

// NewWords begins a command with its name and its positional arguments.
func NewWords(name Keyword, arguments ...string) Words {
	w := Words{list: make([][]byte, 0, usualWords), text: make([]byte, 0, usualText)}
	w.Add(string(name))
	for _, a := range arguments {
		w.Add(a)
	}
	return w
}

// AsWritten takes a command as the caller wrote it, for protocols that have commands.
func AsWritten(words ...[]byte) Words { return Words{list: words} }

// List returns the words. They must not be used if there is an error.
func (w *Words) List() [][]byte { return w.list }

// Err returns the first mistake in the values, nil if there is none.
func (w *Words) Err() error { return w.err }

// Note records an error for [Words.Err], which returns the first.
func (w *Words) Note(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Add appends a word.
func (w *Words) Add(word string) {
	if w.with {
		w.Note(fmt.Errorf("command: %q after the fields of WITH would be read as a field; write it before WITH", Truncate([]byte(word), 64)))
	}
	begin := len(w.text)
	w.text = append(w.text, word...)
	w.list = append(w.list, w.text[begin:len(w.text):len(w.text)])
}

// Option appends a word of the grammar.
func (w *Words) Option(word Keyword) { w.Add(string(word)) }

// Value appends an option and its value. The command takes any text as the value.
func (w *Words) Value(option Keyword, value string) {
	w.Add(string(option))
	w.Add(value)
}

// Number appends a number where the command could take an option, so it must be digits. name is what the caller calls
// it.
func (w *Words) Number(name, value string) {
	w.MustBeDigits(name, value)
	w.Add(value)
}

// MustBeDigits records an error unless the value of a parameter is a sequence of digits.
func (w *Words) MustBeDigits(name, value string) {
	if value == "" || strings.Trim(value, "0123456789") != "" {
		w.Note(fmt.Errorf("%s: must be an integer, in digits, got %q", name, Truncate([]byte(value), 64)))
	}
}

// Amount appends an option and a number of tokens, or a percentage.
func (w *Words) Amount(option Keyword, value string) {
	if strings.Trim(value, "0123456789.%") != "" {
		w.Note(fmt.Errorf("%s: must be a number, or a percentage such as 10%%, got %q", strings.ToLower(string(option)), Truncate([]byte(value), 64)))
	}
	w.Value(option, value)
}

// Count appends a number that the program computed.
func (w *Words) Count(n uint64) {
	var digits [20]byte
	w.Add(string(strconv.AppendUint(digits[:0], n, 10)))
}

// With appends a field and its value. Nothing else may follow the fields.
func (w *Words) With(field, value string) {
	if !w.with {
		w.Add("WITH")
	}
	w.with = false
	w.Add(field)
	w.Add(value)
	w.with = true
}

// IsWord reports whether an argument is a word, in lower or upper case.
func IsWord(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i, c := range arg {
		if d := word[i]; c != d && (c|0x20 != d|0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}
