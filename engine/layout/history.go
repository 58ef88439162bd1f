package layout

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// History is the closed windows of a limiter with usage, the newest first, and what of the open one is reserved. As
// bytes:
//
//	offset  size  field
//	0       1     1 and the number of closed windows, and hasLeft; 0 if there is no history at all
//	1       8     tokens of the open window that are reserved
//	9       8     with hasLeft alone: Left
//	        ...   closed windows
//
// All integers are little-endian.
type History struct {
	Reserved int64
	Rolls    bool  // Left is kept
	Left     int64 // tokens that the newest closed window has left, of which a part may roll over; negative if it ended in debt
	closed   []byte
}

// ClosedWindow is a window that is over.
//
//	offset  size  field
//	0       8     start, nanoseconds since the Unix epoch
//	8       8     end
//	16      8     tokens used, 1 or more
//	24      8     of them, how many are still reserved
type ClosedWindow struct{ Start, End, Used, Reserved int64 }

const (
	historyHead       = 9
	closedWindowBytes = 32
	leftBytes         = 8
	hasLeft           = 0x80
)

// HistoryBytes is the room for a history of n closed windows, which may roll over.
func HistoryBytes(n uint8, rolls bool) int {
	size := historyHead + int(n)*closedWindowBytes
	if rolls {
		size += leftBytes
	}
	return size
}

// ReadHistory reads a history at the front of b, which it refers to.
func ReadHistory(b []byte) (h History, rest []byte, ok bool) {
	if len(b) == 0 || b[0] == 0 {
		return h, b, true
	}
	h.Rolls = b[0]&hasLeft != 0
	size := HistoryBytes(b[0]&^hasLeft-1, h.Rolls)
	if b[0] == hasLeft || size > len(b) {
		return h, nil, false
	}
	h.Reserved, h.closed = int64(binary.LittleEndian.Uint64(b[1:])), b[historyHead:size:size]
	if h.Rolls {
		h.Left, h.closed = int64(binary.LittleEndian.Uint64(h.closed)), h.closed[leftBytes:]
	}
	if h.Reserved < 0 || h.Reserved > mostCounted || h.Left < -mostCounted || h.Left > mostCounted {
		return h, nil, false
	}
	for i := range h.Len() {
		w := h.At(i)
		if w.Start >= w.End || w.Used < 0 || w.Used == 0 && !h.Rolls || w.Used > mostCounted || w.Reserved < 0 || w.Reserved > w.Used {
			return h, nil, false
		}
	}
	return h, b[size:], true
}

// mostCounted is the most tokens that a window counts: the capacity, and a debt.
const mostCounted = 3 * limits.MaxTokens

// Append appends the history to b, with room for n closed windows, of which it has no more.
func (h *History) Append(b []byte, n uint8) []byte {
	kept := min(h.Len(), int(n))
	first := byte(1 + kept)
	if h.Rolls {
		first |= hasLeft
	}
	b = binary.LittleEndian.AppendUint64(append(b, first), uint64(h.Reserved))
	if h.Rolls {
		b = binary.LittleEndian.AppendUint64(b, uint64(h.Left))
	}
	b = append(b, h.closed[:kept*closedWindowBytes]...)
	return append(b, make([]byte, (int(n)-kept)*closedWindowBytes)...)
}

// Len is the number of closed windows.
func (h *History) Len() int { return len(h.closed) / closedWindowBytes }

// At is closed window number i, the newest being 0.
func (h *History) At(i int) ClosedWindow {
	b := h.closed[i*closedWindowBytes:]
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(b[at:])) }
	return ClosedWindow{number(0), number(8), number(16), number(24)}
}

func (h *History) set(i int, w ClosedWindow) {
	for j, n := range [...]int64{w.Start, w.End, w.Used, w.Reserved} {
		binary.LittleEndian.PutUint64(h.closed[i*closedWindowBytes+8*j:], uint64(n))
	}
}

// Own has the history refer to room and no longer to the bytes that it was read from, and returns the room for the next
// use.
func (h *History) Own(room []byte) []byte {
	h.closed = append(room[:0], h.closed...)
	return h.closed
}

// Close puts the open window, which used some tokens and has left others, before the closed ones, and keeps n of them.
// The history is its own: see [History.Own].
func (h *History) Close(start, end, used, left int64, n uint8) {
	if used > 0 {
		h.Left = left
		if h.Len() > 0 && h.At(0).Used == 0 {
			h.remove(0)
		}
		h.closed = append(h.closed, make([]byte, closedWindowBytes)...)
		copy(h.closed[closedWindowBytes:], h.closed)
		h.set(0, ClosedWindow{start, end, used, min(h.Reserved, used)})
		h.closed = h.closed[:min(h.Len(), int(n))*closedWindowBytes]
	}
	h.Reserved = 0
}

// Settle gives tokens back to the closed window of a start, of which some were reserved until now. A window that used
// nothing is forgotten, unless what it left may roll over.
func (h *History) Settle(start, back, reserved int64) {
	for i := range h.Len() {
		w := h.At(i)
		if w.Start != start {
			continue
		}
		back = min(back, w.Used)
		w.Used -= back
		w.Reserved = min(max(0, w.Reserved-reserved), w.Used)
		h.set(i, w)
		if i == 0 {
			h.Left += back
		}
		if w.Used == 0 && !(i == 0 && h.Rolls) {
			h.remove(i)
		}
		return
	}
}

func (h *History) remove(i int) {
	at := i * closedWindowBytes
	h.closed = append(h.closed[:at], h.closed[at+closedWindowBytes:]...)
}

// Roll has what the newest closed window left be kept, or no longer: then nothing keeps one that used nothing.
func (h *History) Roll(rolls bool) {
	if h.Rolls = rolls; !rolls && h.Len() > 0 && h.At(0).Used == 0 {
		h.remove(0)
	}
}

// Clear forgets all.
func (h *History) Clear() { h.Reserved, h.Rolls, h.Left, h.closed = 0, false, 0, h.closed[:0] }

// Rewind makes all times earlier.
func (h *History) Rewind(by int64) {
	for i := range h.Len() {
		w := h.At(i)
		w.Start, w.End = w.Start-by, w.End-by
		h.set(i, w)
	}
}

// LastEnd is the end of the newest closed window, 0 if there is none.
func (h *History) LastEnd() int64 {
	if h.Len() == 0 {
		return 0
	}
	return h.At(0).End
}
