package registry

import "sync/atomic"

// Stats are the buffer sizes and byte counts that CLIENT LIST shows, as of the connection's last turn. One goroutine at
// a time writes them, any may read them.
type Stats struct {
	input     atomic.Int64 // bytes that came and are not executed yet
	inputFree atomic.Int64 // bytes there is room for after them
	unsent    atomic.Int64 // bytes of replies the client has not taken yet
	queued    atomic.Int64 // commands of an open MULTI, and one more; 0 without one
	queuedLen atomic.Int64 // bytes of their arguments
	watched   atomic.Int64 // keys
	in, out   atomic.Int64 // bytes since the connection was made
}

// Received counts bytes that arrived.
func (f *Stats) Received(bytes int) { f.in.Store(f.in.Load() + int64(bytes)) }

// Sent counts bytes of replies.
func (f *Stats) Sent(bytes int) { f.out.Store(f.out.Load() + int64(bytes)) }

// SetBuffers notes the bytes of the input buffer, in use and free, and of the replies that the client has not taken.
// Most often they are as before: a load costs far less than a store.
func (f *Stats) SetBuffers(input, inputFree, unsent int) {
	storeIfChanged(&f.input, input)
	storeIfChanged(&f.inputFree, inputFree)
	storeIfChanged(&f.unsent, unsent)
}

// SetTransaction notes the commands of an open MULTI, -1 without one, the bytes of their arguments, and the number of
// watched keys.
func (f *Stats) SetTransaction(queued, bytes, watched int) {
	storeIfChanged(&f.queued, queued+1)
	storeIfChanged(&f.queuedLen, bytes)
	storeIfChanged(&f.watched, watched)
}

func storeIfChanged(to *atomic.Int64, value int) {
	if to.Load() != int64(value) {
		to.Store(int64(value))
	}
}
