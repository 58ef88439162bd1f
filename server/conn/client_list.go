package conn

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/stintdb/stint/server/command"
)

func (f *connStats) received(bytes int) { f.in.Store(f.in.Load() + int64(bytes)) }
func (f *connStats) sent(bytes int)     { f.out.Store(f.out.Load() + int64(bytes)) }

// updateConnStats notes the connection's buffers at the end of a turn. Most often they are empty as before: a load costs far
// less than a store.
func (s *Session) updateConnStats(unsent int) {
	f, queued := &s.connStats, 0
	if s.multi.open {
		queued = 1 + len(s.multi.queued)
	}
	storeIfChanged(&f.input, len(s.rest))
	storeIfChanged(&f.inputFree, cap(s.rest)-len(s.rest))
	storeIfChanged(&f.unsent, unsent)
	storeIfChanged(&f.queued, queued)
	storeIfChanged(&f.queuedLen, s.multi.bytes)
}

func storeIfChanged(to *atomic.Int64, value int) {
	if to.Load() != int64(value) {
		to.Store(int64(value))
	}
}

// line is the session's line of CLIENT LIST. What Redis shows and is left out here would not be true: there are no file
// descriptors to name with TLS in between. There is no reply buffer for each connection (rbs, rbp), because all connections
// share the buffers in which replies are written; unsent bytes are in one piece (oll).
func (s *public) line() string {
	seen, now, f := s.published.Load(), s.env.Clock.Now(), &s.connStats
	name := "NULL"
	if row := s.lastRow.Load(); row != nil {
		name = row.FullName
	}
	input, free, unsent, queued := f.input.Load(), f.inputFree.Load(), f.unsent.Load(), f.queuedLen.Load()
	events, redirect := "r", -1
	if unsent > 0 {
		events = "rw"
	}
	if o, on := s.tracker.Load().Options(); on {
		redirect = int(o.Redirect)
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=%s db=0 sub=%d psub=0 ssub=0 multi=%d watch=0 "+
		"qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=0 rbp=0 obl=%d oll=0 omem=%d tot-mem=%d events=%s cmd=%s user=%s redir=%d resp=%d "+
		"lib-name=%s lib-ver=%s tot-net-in=%d tot-net-out=%d",
		s.id, s.addr, s.laddr, seen.Name, (now-s.opened)/1e9, (now-s.lastActive.Load())/1e9, s.flags(), s.channels.Load(), f.queued.Load()-1,
		input, free, queued, unsent, unsent, input+free+queued+unsent+int64(unsafe.Sizeof(Session{})), events, name, cmp.Or(seen.User, "(none)"), redirect, seen.Protocol(),
		seen.LibName, seen.LibVersion, f.in.Load(), f.out.Load())
}

// flags are Redis's letters for the states of a connection.
func (s *public) flags() (flags string) {
	seen, tracker := s.published.Load(), s.tracker.Load()
	tracks, on := tracker.Options()
	for _, f := range []struct {
		letter string
		is     bool
	}{
		{"O", s.monitoring.Load()}, {"P", s.channels.Load() > 0}, {"x", s.connStats.queued.Load() > 0}, {"b", s.wait.has(blockedEvents)},
		{"t", on}, {"R", on && tracker.IsBroken()}, {"B", tracks.Broadcast}, {"r", seen.ReadOnly}, {"e", seen.NoEvict}, {"T", seen.NoTouch},
	} {
		if f.is {
			flags += f.letter
		}
	}
	return cmp.Or(flags, "N")
}

func (s *public) info() command.ClientInfo {
	return command.ClientInfo{ID: s.id, Addr: s.addr, LocalAddr: s.laddr, AgeSec: (s.env.Clock.Now() - s.opened) / 1e9, User: s.published.Load().User, Subscribed: s.channels.Load() > 0}
}
