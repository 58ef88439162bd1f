package interpreter

import (
	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/value"
)

// Sizes of what a run keeps for the next one.
const (
	keptText   = 8 << 10 // bytes of texts
	keptTables = 64
	keptRoom   = 64 // items and fields of a table
)

// Text makes a text of the run from bytes, which it copies.
func (L *Thread) Text(b []byte) value.Value {
	m := &L.run.memory
	if len(b) > keptText/8 {
		return value.String(string(b))
	}
	if len(m.text)+len(b) > cap(m.text) {
		m.text = make([]byte, 0, keptText) // texts refer to the one before
	}
	start := len(m.text)
	m.text = append(m.text, b...)
	return value.OfBytes(m.text[start:])
}

// NumberText is a number as a text, for which the script pays.
func (L *Thread) NumberText(x float64) value.Value {
	r := L.run
	r.build = ctext.AppendNumber(r.build[:0], x, 14)
	L.ChargeBytes(len(r.build))
	return L.Text(r.build)
}

// NewTable makes a table of the run with room for items and fields.
func (L *Thread) NewTable(items, fields int) *value.Table {
	m := &L.run.memory
	if items+fields > keptRoom || m.used == keptTables {
		return value.NewTable(items, fields)
	}
	if m.used == len(m.tables) {
		m.tables = append(m.tables, value.NewTable(items, fields))
	}
	t := m.tables[m.used]
	m.used++
	return t
}

// reset forgets what the run made.
func (m *memory) reset() {
	m.text = m.text[:0]
	for i, t := range m.tables[:m.used] {
		if t.Room() > keptRoom {
			m.tables[i] = &value.Table{}
		} else {
			t.Clear()
		}
	}
	m.used = 0
}

func (r *Run) argumentsOf(isArgv bool) *arguments {
	if isArgv {
		return &r.arguments[1]
	}
	return &r.arguments[0]
}

// arguments is the table KEYS or ARGV.
func (L *Thread) arguments(isArgv bool) value.Value {
	a := L.run.argumentsOf(isArgv)
	if a.table == nil {
		a.table = L.NewTable(len(a.texts), 0)
		for i, text := range a.texts {
			a.table.SetInt(i+1, value.OfBytes(text))
		}
	}
	return value.OfTable(a.table)
}
