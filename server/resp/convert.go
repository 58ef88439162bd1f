package resp

import (
	"bytes"
	"strconv"
)

// Shape is the form of a reply that differs between RESP2 and RESP3.
type Shape uint8

// The shapes.
const (
	Same       Shape = iota
	Map              // fields and their values
	Set              // members
	Double           // a number that is not whole
	Scored           // members with their scores
	FlatScored       // the same, one after the other
	KeyScored        // a key, a member and its score, or null
	Doubles          // an array of numbers that are not whole
	Pairs            // an array of fields with their values
	MapOfPairs       // an array of keys with their values, or null
	Warning          // of a check: with the field warn of the limits that have one; the same in RESP3
	Split            // of several limits: as Warning, or how their cost was divided with a balance; the same in RESP3
)

// FromRESP2 writes a whole reply that is given in RESP2 in RESP3. Null has a separate type there.
func (w *Writer) FromRESP2(reply []byte, shape Shape) {
	isArray := len(reply) > 0 && reply[0] == '*'
	n, rest := 0, reply
	if isArray && shape != Same {
		n, rest = splitCount(reply)
	}
	switch {
	case n < 0:
		rest = reply
	case isArray && shape == Map:
		w.prefix('%', n/2)
	case isArray && shape == Set:
		w.prefix('~', n)
	case isArray && shape == Scored:
		w.Array(n / 2)
		for range n / 2 {
			w.Array(2)
			rest = w.double(w.element(rest))
		}
	case isArray && shape == Pairs:
		w.Array(n / 2)
		for range n / 2 {
			w.Array(2)
			rest = w.element(w.element(rest))
		}
	case isArray && shape == MapOfPairs:
		w.prefix('%', n)
		for range n {
			_, rest = splitCount(rest) // the array of the two
			rest = w.whole(w.element(rest))
		}
	case shape == KeyScored && n > 0:
		w.Array(n)
		rest = w.double(w.element(w.element(rest)))
	case isArray && shape == FlatScored:
		w.Array(n)
		for range n / 2 {
			rest = w.double(w.element(rest))
		}
	case isArray && shape == Doubles:
		w.Array(n)
		for range n {
			rest = w.double(rest)
		}
	case shape == Double:
		rest = w.double(rest)
	}
	for len(rest) > 0 {
		rest = w.element(rest)
	}
}

// element writes the element at the front of a RESP2 reply, only the head if it is an array, and returns the rest.
func (w *Writer) element(reply []byte) (rest []byte) {
	end := bytes.IndexByte(reply, '\n') + 1
	if reply[0] == '$' || reply[0] == '*' {
		switch n, _ := splitCount(reply); {
		case n < 0:
			w.Null()
			return reply[end:]
		case reply[0] == '$':
			end += n + 2
		}
	}
	w.Buf = append(w.Buf, reply[:end]...)
	return reply[end:]
}

// whole writes the element at the front of a RESP2 reply with all that is in it, and returns the rest.
func (w *Writer) whole(reply []byte) (rest []byte) {
	for left := 1; left > 0; left-- {
		if reply[0] == '*' {
			n, _ := splitCount(reply)
			left += max(n, 0)
		}
		reply = w.element(reply)
	}
	return reply
}

// double writes the bulk string at the front of a RESP2 reply as a double.
func (w *Writer) double(reply []byte) (rest []byte) {
	n, text := splitCount(reply)
	if reply[0] != '$' || n < 0 {
		return w.element(reply)
	}
	w.Buf = append(append(append(w.Buf, ','), text[:n]...), '\r', '\n')
	return text[n+2:]
}

// splitCount returns the number in the head of a bulk string or an array, and the bytes after the head.
func splitCount(reply []byte) (n int, rest []byte) {
	end := bytes.IndexByte(reply, '\n')
	n, _ = strconv.Atoi(string(reply[1 : end-1]))
	return n, reply[end+1:]
}
