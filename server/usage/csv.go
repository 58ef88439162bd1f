package usage

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stintdb/stint/internal/bytetext"
)

// Header is the first row of a table of callers.
var Header = []string{"id", "with", "key", "limit", "used", "reserved", "lent", "remaining", "start_ms", "end_ms"}

// Row is the caller as a row of a table, with the columns of [Header]. The fields are written as in the query of a URL.
func (c *Caller) Row() []string {
	with := url.Values{}
	for name, value := range c.With {
		with.Set(name, value)
	}
	return []string{
		cell(c.ID, c.IDBase64), with.Encode(), cell(c.Key, c.KeyBase64), number(&c.Limit), number(&c.Used), number(c.Reserved), number(&c.Lent), number(&c.Remaining), number(c.StartMs), number(c.EndMs),
	}
}

// cell is a text for a cell. A text that begins as a formula of a spreadsheet program does gets a quote before it.
func cell(text *string, binary []byte) string {
	s := bytetext.Shown(string(binary))
	if text != nil {
		s = *text
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil && strings.IndexAny(s, "=+-@\t\r\n") == 0 {
		return "'" + s
	}
	return s
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
