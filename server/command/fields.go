package command

import (
	"fmt"

	"github.com/stintdb/stint/server/resp"
)

// field is an entry of a map in a reply: a name, and one of the values that writeFields knows.
type field struct {
	name  string
	value any
}

// set is a value that is written as a set of texts.
type set []string

// statuses is a value that is written as a set of simple strings.
type statuses []string

func (s statuses) write(w *resp.Writer) {
	w.Set(len(s))
	for _, text := range s {
		w.Status(text)
	}
}

// writeFields writes a map.
func writeFields(w *resp.Writer, fields []field) {
	w.Map(len(fields))
	for _, f := range fields {
		w.BulkString(f.name)
		switch v := f.value.(type) {
		case string:
			w.BulkString(v)
		case int64:
			w.Int(v)
		case float64:
			w.Double(v)
		case bool:
			w.Bool(v)
		case []string:
			writeTexts(w, v)
		case set:
			w.Set(len(v))
			for _, text := range v {
				w.BulkString(text)
			}
		case statuses:
			v.write(w)
		case func(*resp.Writer):
			v(w)
		default:
			panic(fmt.Sprintf("command: field %s has a value of type %T, which has no form in replies", f.name, v))
		}
	}
}

func writeTexts(w *resp.Writer, all []string) {
	w.Array(len(all))
	for _, t := range all {
		w.BulkString(t)
	}
}
