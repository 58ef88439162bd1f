package transcripttest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLine is the length of the longest reply on one line, in bytes.
const maxLine = 160

// node is a reply: a leaf has text; an aggregate has elements, and signs that open and close it.
type node struct {
	text        string
	open, close string
	elements    []node
	pairs       bool // the elements alternate keys and values
}

// ReadReply reads one reply from the wire and returns it in the notation of transcripts.
func ReadReply(r *bufio.Reader) (string, error) {
	n, err := readNode(r)
	if err != nil {
		return "", err
	}
	return n.render(""), nil
}

func readNode(r *bufio.Reader) (node, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return node{}, err
	}
	kind, rest, ok := line[0], "", len(line) >= 3 && strings.HasSuffix(line, "\r\n")
	if !ok {
		return node{}, fmt.Errorf("not a reply: %q", line)
	}
	rest = line[1 : len(line)-2]
	switch kind {
	case '+', '-':
		return node{text: string(kind) + plain(rest)}, nil
	case '_':
		return node{text: "null"}, nil
	case ',':
		return node{text: "," + rest}, nil
	case '$', '=', '*', '%', '~', '>', ':':
	default:
		return node{}, fmt.Errorf("not a reply: %q", line)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != rest {
		return node{}, fmt.Errorf("not a number: %q", line)
	}
	switch kind {
	case ':':
		return node{text: rest}, nil
	case '$', '=':
		return readBulk(r, kind, int(n))
	case '%':
		return readElements(r, node{open: "{", close: "}", pairs: true}, 2*int(n))
	case '~':
		return readElements(r, node{open: "~[", close: "]"}, int(n))
	case '>':
		return readElements(r, node{open: "push[", close: "]"}, int(n))
	}
	if n == -1 {
		return node{text: "nil[]"}, nil
	}
	return readElements(r, node{open: "[", close: "]"}, int(n))
}

func readBulk(r *bufio.Reader, kind byte, n int) (node, error) {
	if n == -1 && kind == '$' {
		return node{text: "nil"}, nil
	}
	if n < 0 {
		return node{}, fmt.Errorf("length %d", n)
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(r, text); err != nil {
		return node{}, err
	}
	if string(text[n:]) != "\r\n" {
		return node{}, fmt.Errorf("no line end after %q", text)
	}
	if kind == '$' {
		return node{text: strconv.QuoteToASCII(string(text[:n]))}, nil
	}
	format, body, _ := strings.Cut(string(text[:n]), ":")
	return node{text: format + strconv.QuoteToASCII(body)}, nil
}

func readElements(r *bufio.Reader, n node, count int) (node, error) {
	if count < 0 {
		return node{}, fmt.Errorf("%d elements", count)
	}
	for range count {
		e, err := readNode(r)
		if err != nil {
			return node{}, err
		}
		n.elements = append(n.elements, e)
	}
	return n, nil
}

// plain returns the text of a simple string or an error, with bytes that are not printable escaped as in a Go string.
func plain(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

// render writes a reply on one line, or if that is too long, one element per line.
func (n node) render(indent string) string {
	if line := n.line(); n.open == "" || len(indent)+len(line) <= maxLine {
		return line
	}
	var out strings.Builder
	out.WriteString(n.open + "\n")
	inner := indent + "  "
	for i, e := range n.elements {
		switch {
		case n.pairs && i%2 == 1:
			out.WriteString(": " + e.render(inner) + "\n")
		case n.pairs:
			out.WriteString(inner + e.render(inner))
		default:
			out.WriteString(inner + e.render(inner) + "\n")
		}
	}
	out.WriteString(indent + n.close)
	return out.String()
}

func (n node) line() string {
	if n.open == "" {
		return n.text
	}
	var out strings.Builder
	out.WriteString(n.open)
	for i, e := range n.elements {
		switch {
		case i == 0:
		case n.pairs && i%2 == 1:
			out.WriteString(": ")
		case n.pairs:
			out.WriteString(", ")
		default:
			out.WriteString(" ")
		}
		out.WriteString(e.line())
	}
	return out.String() + n.close
}
