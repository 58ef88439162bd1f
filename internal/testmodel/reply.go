package testmodel

import (
	"fmt"
	"strconv"
	"strings"
)

// Replies are texts in RESP2, as the server sends them.

func integer(n int64) string { return ":" + strconv.FormatInt(n, 10) + "\r\n" }

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func array(elements ...string) string {
	return fmt.Sprintf("*%d\r\n%s", len(elements), strings.Join(elements, ""))
}

func status(text string) string { return "+" + text + "\r\n" }

const null = "$-1\r\n"

// refusal is an error reply of the server.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// failure is an error in one line of printable text.
func failure(err error) string {
	line := ""
	for _, b := range []byte(err.Error()) {
		switch {
		case b == '\r' || b == '\n':
			line += " "
		case b < ' ' || b > '~':
			line += fmt.Sprintf("\\x%02x", b)
		default:
			line += string(rune(b))
		}
	}
	return "-" + line + "\r\n"
}

func integers(all ...int64) string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = integer(n)
	}
	return array(texts...)
}

// millis rounds nanoseconds up to whole milliseconds; below zero stands for never.
func millis(nanos int64) int64 {
	if nanos < 0 {
		return nanos
	}
	ms := nanos / 1_000_000
	if nanos%1_000_000 > 0 {
		ms++
	}
	return ms
}
