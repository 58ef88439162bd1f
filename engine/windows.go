package engine

import "encoding/binary"

// Window is a window of a fixed window limit: [Start, End), in nanoseconds since the Unix epoch, the tokens used in it,
// and those of them that are reserved: requests with an id have taken them that were not settled.
type Window struct{ Start, End, Used, Reserved int64 }

// Windows are the windows that a ListWindows has found: the open one, and the closed ones with usage that are kept, the
// newest first. Without windows, and before the first request of one that begins with it, the open one is zero but for
// Used.
func (res *Result) Windows() (open Window, closed []Window) {
	if res.Status != OK {
		return open, nil
	}
	r := PartReader{Rest: res.Reply}
	next := func() Window { return Window{r.Varint(), r.Varint(), r.Varint(), r.Varint()} }
	open = next()
	for len(r.Rest) > 0 {
		closed = append(closed, next())
	}
	return open, closed
}

// AddWindow appends a window to the reply.
func (res *Result) AddWindow(w Window) {
	for _, n := range [...]int64{w.Start, w.End, w.Used, w.Reserved} {
		res.Reply = binary.AppendVarint(res.Reply, n)
	}
}
