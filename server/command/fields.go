package command

import (
	"fmt"
	"strconv"

	"github.com/stintdb/stint/server/resp"
)

// Field is an entry of a map in a reply: a name, and a value of one of the types that WriteFields knows.
type Field struct {
	Name  string
	Value any
}

// TextSet is written as a set of texts.
type TextSet []string

// Statuses is written as a set of simple strings.
type Statuses []string

// Write writes the set.
func (s Statuses) Write(w *resp.Writer) {
	w.Set(len(s))
	for _, text := range s {
		w.Status(text)
	}
}

// WriteFields writes a map.
func WriteFields(w *resp.Writer, fields []Field) {
	w.Map(len(fields))
	for _, f := range fields {
		w.BulkString(f.Name)
		switch v := f.Value.(type) {
		case string:
			w.BulkString(v)
		case int64:
			w.Int(v)
		case float64:
			w.Double(v)
		case bool:
			w.Bool(v)
		case []string:
			WriteTexts(w, v)
		case TextSet:
			w.Set(len(v))
			for _, text := range v {
				w.BulkString(text)
			}
		case Statuses:
			v.Write(w)
		case func(*resp.Writer):
			v(w)
		default:
			panic(fmt.Sprintf("command: field %s has a value of type %T, which has no form in replies", f.Name, v))
		}
	}
}

// WriteTexts writes an array of texts.
func WriteTexts(w *resp.Writer, all []string) {
	w.Array(len(all))
	for _, t := range all {
		w.BulkString(t)
	}
}

// Texts converts arguments to strings.
func Texts(args [][]byte) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = string(a)
	}
	return out
}

// FormatInt formats a number in decimal.
func FormatInt(n int64) string { return strconv.FormatInt(n, 10) }
