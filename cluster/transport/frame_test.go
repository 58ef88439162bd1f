package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// A frame takes memory as its bytes arrive and not as its length says, and a large buffer is not kept for the next
// frame.
func TestFramesAreBelievedAsTheyCome(t *testing.T) {
	head := binary.LittleEndian.AppendUint32(nil, MaxFrameBytes)
	for _, came := range []int{0, 10, 100_000, 1 << 20} {
		buf, err := ReadFrame(bytes.NewReader(append(head, make([]byte, came)...)), nil, MaxFrameBytes)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || cap(buf) > max(3*came, firstFrameBytes) {
			t.Errorf("%d bytes of %d came: %d bytes are taken (%v)", came, MaxFrameBytes, cap(buf), err)
		}
	}
	text := bytes.Repeat([]byte("0123456789"), 200_000)
	buf, err := ReadFrame(bytes.NewReader(SealFrame(append(make([]byte, 4), text...))), nil, MaxFrameBytes)
	if err != nil || !bytes.Equal(buf, text) {
		t.Errorf("a frame of %d bytes is read as one of %d (%v)", len(text), len(buf), err)
	}
	if KeepFrame(buf) != nil || cap(KeepFrame(buf[:1:100])) != 100 {
		t.Error("what is kept for the next frame does not go by size")
	}
}

// FuzzFrame reads frames from a connection.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x00abc\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 10
		var buf []byte
		var err error
		for in := bytes.NewReader(b); err == nil; {
			if buf, err = ReadFrame(in, buf, most); cap(buf) > 2*most {
				t.Fatalf("a frame of %d bytes", cap(buf))
			}
		}
	})
}
