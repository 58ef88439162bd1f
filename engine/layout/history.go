package layout

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// History is the closed windows of a limiter with usage, the newest first, and what of the open one is reserved. As
// bytes:
//
//	offset  size  field
//	0       1     1 and the number of closed windows; 0 if there is no history at all
//	1       8     tokens of the open window that are reserved
//	9       ...   closed windows
//
// All integers are little-endian.
type History struct {
	Reserved int64
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
)

// HistoryBytes is the room for a history of n closed windows.
func HistoryBytes(n uint8) int { return historyHead + int(n)*closedWindowBytes }

// ReadHistory reads a history at the front of b, which it refers to.
func ReadHistory(b []byte) (h History, rest []byte, ok bool) {
	if len(b) == 0 || b[0] == 0 {
		return h, b, true
	}
	size := HistoryBytes(b[0] - 1)
	if size > len(b) {
		return h, nil, false
	}
	h.Reserved, h.closed = int64(binary.LittleEndian.Uint64(b[1:])), b[historyHead:size:size]
	if h.Reserved < 0 || h.Reserved > mostCounted {
		return h, nil, false
	}
	for i := range h.Len() {
		w := h.At(i)
		if w.Start >= w.End || w.Used < 1 || w.Used > mostCounted || w.Reserved < 0 || w.Reserved > w.Used {
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
	b = binary.LittleEndian.AppendUint64(append(b, byte(1+kept)), uint64(h.Reserved))
	b = append(b, h.closed[:kept*closedWindowBytes]...)
	return append(b, make([]byte, HistoryBytes(n)-HistoryBytes(uint8(kept)))...)
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

// Close puts the open window, which used some tokens, before the closed ones, and keeps n of them. The history is its
// own: see [History.Own].
func (h *History) Close(start, end, used int64, n uint8) {
	if used > 0 {
		h.closed = append(h.closed, make([]byte, closedWindowBytes)...)
		copy(h.closed[closedWindowBytes:], h.closed)
		h.set(0, ClosedWindow{start, end, used, min(h.Reserved, used)})
		h.closed = h.closed[:min(h.Len(), int(n))*closedWindowBytes]
	}
	h.Reserved = 0
}

// Settle gives tokens back to the closed window of a start, of which some were reserved until now.
func (h *History) Settle(start, back, reserved int64) {
	for i := range h.Len() {
		w := h.At(i)
		if w.Start != start {
			continue
		}
		w.Used -= min(back, w.Used)
		w.Reserved = min(max(0, w.Reserved-reserved), w.Used)
		if h.set(i, w); w.Used == 0 {
			at := i * closedWindowBytes
			h.closed = append(h.closed[:at], h.closed[at+closedWindowBytes:]...)
		}
		return
	}
}

// Clear forgets all.
func (h *History) Clear() { h.Reserved, h.closed = 0, h.closed[:0] }

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
