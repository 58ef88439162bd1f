package layout

import "encoding/binary"

// AppendText appends the length of a text and the text.
func AppendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
