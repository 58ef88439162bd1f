// Package usage reads the replies of RL.USAGE, RL.POLICY USAGE and RL.POLICY CALLERS, and shows them as JSON and CSV.
package usage

import (
	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/internal/bytetext"
)

// Usage is the usage of a key. Fields that are null in the reply are left out, and so is the key of RL.USAGE.
type Usage struct {
	Key       *string  `json:"key,omitempty"`
	KeyBase64 []byte   `json:"key_base64,omitempty"` // in place of key if it is not UTF-8
	Limit     int64    `json:"limit"`
	Used      int64    `json:"used"`
	Reserved  *int64   `json:"reserved,omitempty"`
	Lent      int64    `json:"lent"`
	Remaining int64    `json:"remaining"`
	StartMs   *int64   `json:"start_ms,omitempty"`
	EndMs     *int64   `json:"end_ms,omitempty"`
	History   []Window `json:"history,omitzero"` // nil of a caller's usage
}

// Window is a window that is over.
type Window struct {
	StartMs  int64 `json:"start_ms"`
	EndMs    int64 `json:"end_ms"`
	Used     int64 `json:"used"`
	Reserved int64 `json:"reserved"`
}

// Page is the reply of RL.POLICY CALLERS.
type Page struct {
	Cursor  string   `json:"cursor"` // of the next page, 0 after the last
	Callers []Caller `json:"callers"`
	// Elsewhere is the numbers of the groups whose keys are not on the node that was asked, so not among the callers.
	Elsewhere []int64 `json:"groups_elsewhere,omitempty"`
}

// Caller is the usage of a key of a policy's limit, and the values that make the key.
type Caller struct {
	ID       *string           `json:"id,omitempty"`
	IDBase64 []byte            `json:"id_base64,omitempty"` // in place of id if it is not UTF-8
	With     map[string]string `json:"with,omitempty"`      // fields; a value that is not UTF-8 is quoted
	Usage
}

// Read reads the names and values of a usage.
func Read(reply redcon.RESP) (u Usage) {
	forEachField(reply, func(name string, v redcon.RESP) {
		n := v.Int()
		switch name {
		case "key":
			u.Key, u.KeyBase64 = bytetext.JSON(v.Bytes())
		case "limit":
			u.Limit = n
		case "used":
			u.Used = n
		case "reserved":
			u.Reserved = unlessNull(v, n)
		case "lent":
			u.Lent = n
		case "remaining":
			u.Remaining = n
		case "start_ms":
			u.StartMs = unlessNull(v, n)
		case "end_ms":
			u.EndMs = unlessNull(v, n)
		case "history":
			u.History = readWindows(v)
		}
	})
	return u
}

// ReadPage reads a page of callers.
func ReadPage(reply redcon.RESP) Page {
	page := Page{Callers: []Caller{}}
	at := 0
	reply.ForEach(func(v redcon.RESP) bool {
		switch at++; at {
		case 1:
			page.Cursor = v.String()
		case 2:
			v.ForEach(func(one redcon.RESP) bool {
				page.Callers = append(page.Callers, readCaller(one))
				return true
			})
		case 3:
			page.Elsewhere = readIntegers(v)
		}
		return true
	})
	return page
}

func readCaller(reply redcon.RESP) Caller {
	c := Caller{Usage: Read(reply)}
	forEachField(reply, func(name string, v redcon.RESP) {
		switch {
		case name == "id" && v.Data != nil:
			c.ID, c.IDBase64 = bytetext.JSON(v.Bytes())
		case name == "with":
			forEachField(v, func(field string, value redcon.RESP) {
				if c.With == nil {
					c.With = map[string]string{}
				}
				c.With[field] = bytetext.Shown(value.String())
			})
		}
	})
	return c
}

// forEachField calls visit for names and values, which a map has by turns in RESP2.
func forEachField(reply redcon.RESP, visit func(name string, v redcon.RESP)) {
	name, isValue := "", false
	reply.ForEach(func(v redcon.RESP) bool {
		if isValue {
			visit(name, v)
		} else {
			name = v.String()
		}
		isValue = !isValue
		return true
	})
}

func readWindows(reply redcon.RESP) []Window {
	all := []Window{}
	reply.ForEach(func(window redcon.RESP) bool {
		n := readIntegers(window)
		all = append(all, Window{n[0], n[1], n[2], n[3]})
		return true
	})
	return all
}

func readIntegers(reply redcon.RESP) (all []int64) {
	reply.ForEach(func(v redcon.RESP) bool {
		all = append(all, v.Int())
		return true
	})
	return all
}

func unlessNull(v redcon.RESP, n int64) *int64 {
	if v.Type != redcon.Integer {
		return nil
	}
	return &n
}
