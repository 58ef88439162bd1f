package transport

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// A frame is a length of four bytes, little-endian, and that many bytes. Every reader has a maximum.
const (
	maxJSONBytes  = 64 << 10
	MaxFrameBytes = 64 << 20 // the most for a frame of calls
)

// firstFrameBytes is the largest buffer that is allocated before any byte of a frame has arrived.
const firstFrameBytes = 64 << 10

// ReadFrame reads a frame of at most most bytes into buf, or into a larger buffer. The buffer grows with the bytes that
// arrive, whatever length the frame claims.
func ReadFrame(r io.Reader, buf []byte, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if size > most {
		return nil, fmt.Errorf("a frame of %d bytes, more than the %d that are taken", size, most)
	}
	for buf = buf[:0]; len(buf) < size; {
		have := len(buf)
		room := min(size, max(cap(buf), 2*have, firstFrameBytes))
		buf = slices.Grow(buf, room-have)[:room]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			return buf[:have], err
		}
	}
	return buf, nil
}

// KeepFrame returns the buffer for the next frame, or nil if it is larger than most frames need.
func KeepFrame(buf []byte) []byte {
	if cap(buf) > keepFrameBytes {
		return nil
	}
	return buf
}

// keepFrameBytes is the largest buffer that is kept for the next frame.
const keepFrameBytes = 1 << 20

// SealFrame fills in the length of a frame, for which four bytes of room were left.
func SealFrame(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// WriteJSON writes a value as a frame of JSON.
func WriteJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(SealFrame(append(make([]byte, 4), text...)))
	return err
}

// ReadJSON reads a frame of JSON, of 64 KiB at most.
func ReadJSON(r io.Reader, v any) error {
	text, err := ReadFrame(r, nil, maxJSONBytes)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
