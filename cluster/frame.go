package cluster

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is a length of four bytes, little-endian, and so many bytes. Every reader says how long a frame it takes.
const (
	maxHelloBytes = 64 << 10
	maxFrameBytes = 64 << 20
)

// readFrame reads a frame into buf, or a larger one.
func readFrame(r io.Reader, buf []byte, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if size > most {
		return nil, fmt.Errorf("a frame of %d bytes, more than the %d that are taken", size, most)
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	_, err := io.ReadFull(r, buf)
	return buf, err
}

// sealFrame fills in the length of a frame built behind room for it.
func sealFrame(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(sealFrame(append(make([]byte, 4), text...)))
	return err
}

func readJSON(r io.Reader, v any) error {
	text, err := readFrame(r, nil, maxHelloBytes)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
