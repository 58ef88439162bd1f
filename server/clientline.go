package server

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// footprint is what CLIENT LIST tells of a connection's buffers and traffic: as it was when the connection was served
// last. One goroutine at a time writes it, any may read it.
type footprint struct {
	input     atomic.Int64 // bytes that came and are not carried out yet
	inputFree atomic.Int64 // bytes there is room for behind them
	unsent    atomic.Int64 // bytes of replies the client has not taken yet
	queued    atomic.Int64 // commands of an open MULTI, and one more; 0 without one
	queuedLen atomic.Int64 // bytes of their arguments
	in, out   atomic.Int64 // bytes since the connection was made
}

func (f *footprint) received(bytes int) { f.in.Store(f.in.Load() + int64(bytes)) }
func (f *footprint) sent(bytes int)     { f.out.Store(f.out.Load() + int64(bytes)) }

// showBuffers notes the connection's buffers at the end of a turn. Most often they are empty as before: a load costs far
// less than a store.
func (s *session) showBuffers(unsent int) {
	f, queued := &s.taken, 0
	if s.multi.open {
		queued = 1 + len(s.multi.queued)
	}
	show(&f.input, len(s.rest))
	show(&f.inputFree, cap(s.rest)-len(s.rest))
	show(&f.unsent, unsent)
	show(&f.queued, queued)
	show(&f.queuedLen, s.multi.bytes)
}

func show(to *atomic.Int64, value int) {
	if to.Load() != int64(value) {
		to.Store(int64(value))
	}
}

// line is the session's line of CLIENT LIST. What Redis shows and is left out here would not be true: there are no file
// descriptors to name with TLS in between. A connection has no reply buffer of its own (rbs, rbp), as replies are made in
// buffers that all share; what is left unsent is in one piece (oll).
func (s *session) line() string {
	seen, now, f := s.seen.Load(), s.host.clock.Now(), &s.taken
	name := "NULL"
	if row := s.lastRow.Load(); row != nil {
		name = row.FullName
	}
	input, free, unsent, queued := f.input.Load(), f.inputFree.Load(), f.unsent.Load(), f.queuedLen.Load()
	events, redirect := "r", -1
	if unsent > 0 {
		events = "rw"
	}
	if seen.Tracking {
		redirect = 0 // to this connection itself
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d watch=0 "+
		"qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=0 rbp=0 obl=%d oll=0 omem=%d tot-mem=%d events=%s cmd=%s user=%s redir=%d resp=%d "+
		"lib-name=%s lib-ver=%s tot-net-in=%d tot-net-out=%d",
		s.id, s.addr, s.laddr, seen.Name, (now-s.opened)/1e9, (now-s.lastActive.Load())/1e9, s.flags(), f.queued.Load()-1,
		input, free, queued, unsent, unsent, input+free+queued+unsent+int64(unsafe.Sizeof(*s)), events, name, cmp.Or(seen.User, "(none)"), redirect, seen.Protocol(),
		seen.LibName, seen.LibVersion, f.in.Load(), f.out.Load())
}

// flags are the letters by which Redis tells states of a connection.
func (s *session) flags() (flags string) {
	seen := s.seen.Load()
	for _, f := range []struct {
		letter string
		is     bool
	}{
		{"O", s.watches.Load()}, {"x", s.taken.queued.Load() > 0}, {"b", s.waiting.Load()}, {"r", seen.ReadOnly},
		{"t", seen.Tracking}, {"e", seen.NoEvict}, {"T", seen.NoTouch},
	} {
		if f.is {
			flags += f.letter
		}
	}
	return cmp.Or(flags, "N")
}
