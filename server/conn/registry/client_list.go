package registry

import (
	"cmp"
	"fmt"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/wait"
)

// Line is the connection's line of CLIENT LIST. What Redis shows and is left out here would not be true: there are no
// file descriptors to name with TLS in between. There is no reply buffer for each connection (rbs, rbp), because all
// connections share the buffers in which replies are written; unsent bytes are in one piece (oll).
func (c *Connection) Line() string {
	seen, now, f := c.published.Load(), c.registry.Clock.Now(), &c.Stats
	name := "NULL"
	if row := c.lastRow.Load(); row != nil {
		name = row.FullName
	}
	input, free, unsent, queued := f.input.Load(), f.inputFree.Load(), f.unsent.Load(), f.queuedLen.Load()
	events, redirect := "r", -1
	if unsent > 0 {
		events = "rw"
	}
	if o, on := c.Cache.Client().Options(); on {
		redirect = int(o.Redirect)
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=0 ssub=0 multi=%d watch=%d "+
		"qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=0 rbp=0 obl=%d oll=0 omem=%d tot-mem=%d events=%s cmd=%s user=%s redir=%d resp=%d "+
		"lib-name=%s lib-ver=%s tot-net-in=%d tot-net-out=%d",
		c.id, c.addr, c.laddr, seen.Name, (now-c.opened)/1e9, (now-c.lastActive.Load())/1e9, c.flags(),
		seen.Database, c.Channels.Load(), f.queued.Load()-1, f.watched.Load(),
		input, free, queued, unsent, unsent, input+free+queued+unsent+int64(c.registry.SessionBytes), events, name,
		cmp.Or(seen.User, "(none)"), redirect, seen.Protocol(),
		seen.LibName, seen.LibVersion, f.in.Load(), f.out.Load())
}

// flags are Redis's letters for the states of a connection.
func (c *Connection) flags() (flags string) {
	seen, tracker := c.published.Load(), c.Cache.Client()
	tracks, on := tracker.Options()
	for _, f := range []struct {
		letter string
		is     bool
	}{
		{"O", c.Monitoring.Load()}, {"P", c.Channels.Load() > 0}, {"x", c.Stats.queued.Load() > 0},
		{"b", c.Wait.Has(wait.BlockedEvents)},
		{"t", on}, {"R", on && tracker.IsBroken()}, {"B", tracks.Broadcast}, {"r", seen.ReadOnly},
		{"e", seen.NoEvict}, {"T", seen.NoTouch},
	} {
		if f.is {
			flags += f.letter
		}
	}
	return cmp.Or(flags, "N")
}

func (c *Connection) info() command.ClientInfo {
	return command.ClientInfo{ID: c.id, Addr: c.addr, LocalAddr: c.laddr,
		AgeSec: (c.registry.Clock.Now() - c.opened) / 1e9, User: c.published.Load().User, Subscribed: c.Channels.Load() > 0}
}
