//go:build linux && !goroutines

package netio

// unsent is replies that the kernel has not taken, in chunks, so that they take about as much memory as they have
// bytes, and none of it for longer than they wait.
type unsent struct {
	chunks [][]byte // none is empty
	bytes  int
}

// unsentChunk is the least room of a chunk, for small replies.
const unsentChunk = 16 << 10

// add copies a reply to the end.
func (u *unsent) add(b []byte) {
	u.bytes += len(b)
	if last := len(u.chunks) - 1; last >= 0 {
		room := min(cap(u.chunks[last])-len(u.chunks[last]), len(b))
		u.chunks[last] = append(u.chunks[last], b[:room]...)
		b = b[room:]
	}
	if len(b) > 0 {
		u.chunks = append(u.chunks, append(make([]byte, 0, max(len(b), unsentChunk)), b...))
	}
}

// first returns bytes from the front. There must be some.
func (u *unsent) first() []byte { return u.chunks[0] }

// drop removes n bytes, no more than first returned.
func (u *unsent) drop(n int) {
	u.bytes -= n
	if u.chunks[0] = u.chunks[0][n:]; len(u.chunks[0]) > 0 {
		return
	}
	u.chunks[0] = nil
	if u.chunks = u.chunks[1:]; len(u.chunks) == 0 {
		u.chunks = nil
	}
}
