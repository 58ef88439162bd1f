package command

import (
	"fmt"
	"strconv"
	"strings"
)

// Words is a command that is made for callers of another protocol than Redis's. Each method is for a kind of value, so that none can be
// read as another: words of the grammar come from the program alone, a number is digits, and data stands only where a command
// takes any text. The first mistake is kept, and is that of [Words.Err].
type Words struct {
	list [][]byte
	text []byte // room for the words
	err  error
	with bool // fields have begun: nothing else may follow
}

// Keyword is a word of the grammar: a constant of the program. No text from outside may become one.
type Keyword string

// The room that most commands need.
const (
	usualWords = 8
	usualText  = 64
)

// NewWords begins a command of a name and, as data, the arguments that stand at fixed places behind it.
func NewWords(name Keyword, arguments ...string) Words {
	w := Words{list: make([][]byte, 0, usualWords), text: make([]byte, 0, usualText)}
	w.Add(string(name))
	for _, a := range arguments {
		w.Add(a)
	}
	return w
}

// AsWritten is a command in the words of a caller whose protocol has commands.
func AsWritten(words ...[]byte) Words { return Words{list: words} }

// List is the words. They must not be used once there is an error.
func (w *Words) List() [][]byte { return w.list }

// Err is the first mistake among the values, nil if there is none.
func (w *Words) Err() error { return w.err }

// Note keeps the first error: see [Words.Err].
func (w *Words) Note(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Add appends a word. All lie in one piece, unless there is no room: those before stay where they are.
func (w *Words) Add(word string) {
	if w.with {
		w.Note(fmt.Errorf("command: %q behind the fields would be one of them", Truncate([]byte(word), 64)))
	}
	begin := len(w.text)
	w.text = append(w.text, word...)
	w.list = append(w.list, w.text[begin:len(w.text):len(w.text)])
}

// Option appends a word of the grammar.
func (w *Words) Option(word Keyword) { w.Add(string(word)) }

// Value appends an option, and its value, which the command reads as such in any case.
func (w *Words) Value(option Keyword, value string) {
	w.Add(string(option))
	w.Add(value)
}

// Number appends a number that stands where an option could, so it must be digits. Name is the caller's for it.
func (w *Words) Number(name, value string) {
	w.MustBeDigits(name, value)
	w.Add(value)
}

// MustBeDigits notes an error if the value of a parameter is no integer in digits.
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

// Count is Number of a number of the program.
func (w *Words) Count(n uint64) {
	var digits [20]byte
	w.Add(string(strconv.AppendUint(digits[:0], n, 10)))
}

// With appends the value of a field. Nothing else may follow the fields.
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
	return len(arg) == len(word) && strings.EqualFold(string(arg), word)
}
