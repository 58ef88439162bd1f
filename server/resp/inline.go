package resp

import "strings"

// splitInline splits a line as Redis does: words separated by white space; "…" with \n \r \t \b \a \\ \" and \xHH;
// '…' with \' only. A closing quote must be followed by white space or the end of the line.
func splitInline(args [][]byte, line []byte) ([][]byte, error) {
	for {
		for len(line) > 0 && isSpace(line[0]) {
			line = line[1:]
		}
		if len(line) == 0 {
			return args, nil
		}
		word, rest, err := inlineWord(line)
		if err != nil {
			return nil, err
		}
		args, line = append(args, word), rest
	}
}

// inlineWord takes a word from the front of a line. One without quotes is a part of the line.
func inlineWord(line []byte) (word, rest []byte, err error) {
	plain := 0
	for plain < len(line) && !endsPlain[line[plain]] {
		plain++
	}
	if plain == len(line) || isSpace(line[plain]) {
		return line[:plain:plain], line[plain:], nil
	}
	word = append([]byte{}, line[:plain]...)
	for i := plain; i < len(line); i++ {
		switch c := line[i]; {
		case isSpace(c):
			return word, line[i:], nil
		case c == '"' || c == '\'':
			quoted, length, ok := unquote(line[i:], c)
			if !ok {
				return nil, nil, errQuotes
			}
			word = append(word, quoted...)
			i += length - 1
		default:
			word = append(word, c)
		}
	}
	return word, nil, nil
}

// unquote reads the quoted part at the front of s and returns its length with both quotes.
func unquote(s []byte, quote byte) (text []byte, length int, ok bool) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return text, i + 1, i+1 == len(s) || isSpace(s[i+1])
		case c != '\\' || i+1 == len(s):
			text = append(text, c)
		case quote == '\'':
			if s[i+1] == '\'' {
				i++
			}
			text = append(text, s[i])
		case s[i+1] == 'x' && i+3 < len(s) && isHex(s[i+2]) && isHex(s[i+3]):
			text = append(text, hexValue(s[i+2])<<4|hexValue(s[i+3]))
			i += 3
		default:
			i++
			text = append(text, escaped(s[i]))
		}
	}
	return nil, 0, false
}

func escaped(c byte) byte {
	if at := strings.IndexByte("nrtba", c); at >= 0 {
		return "\n\r\t\b\a"[at]
	}
	return c
}

// endsPlain has the bytes that end a word, or begin a part of it that must be unquoted.
var endsPlain = func() (ends [256]bool) {
	for c := range ends {
		ends[c] = isSpace(byte(c)) || c == '"' || c == '\''
	}
	return ends
}()

func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r' || c == 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
