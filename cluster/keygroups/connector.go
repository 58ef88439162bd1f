package keygroups

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/rafttransport"
	"github.com/stintdb/stint/cluster/remote"
	"github.com/stintdb/stint/cluster/transport"
)

// connector makes groups, and connects them with the parts of the machine and with group 0.
type connector struct {
	opt      *Config
	ctx      context.Context // of the node
	first    *group.Group    // group 0
	conns    *transport.Peers
	links    *rafttransport.Links
	statuses *peers.Statuses

	rounds propose.Rounds // in which the groups propose together
	ahead  atomic.Int64   // of the last SetAhead
}

// replica returns a group with a replica here, which has not been started.
func (c *connector) replica(number int, id raft.ServerID, disk Disk) Group {
	own := c.config(number, id)
	own.Disk, own.Ahead = disk, time.Duration(c.ahead.Load())
	if c.opt.Turns != nil {
		own.Turns = c.opt.Turns()
	}
	own.IsRemoved = func(id raft.ServerID) bool { return c.opt.Common.IsRemoved(id) || !c.isPlaced(number, id) }
	if c.opt.Common.Replicas == 0 { // where replicas are on some nodes, all replicas in the table vote
		own.IsToVote = func(id raft.ServerID) (votes, known bool) {
			m, known := c.first.Cluster().Members[id]
			return !m.Nonvoter, known
		}
	}
	own.Rounds, own.Beats = &c.rounds, own.Heartbeat/raftnode.BeatsOfTimeout
	g := group.New(c.ctx, own)
	g.Connect(c.conns, c.statuses.InGroup(number))
	return Group{replica: g, id: id,
		conns: g.ForPeers(transport.Config{Serve: map[transport.Purpose]func(net.Conn, transport.Hello){}})}
}

// remote returns a group without a replica here, and begins to ask its leader.
func (c *connector) remote(number int) Group {
	r := remote.New(c.config(number, c.opt.Common.ID), c.conns, c.statuses.InGroup(number))
	r.Start(c.ctx)
	return Group{remote: r}
}

// config returns the part of a group's configuration that does not depend on whether it has a replica here.
func (c *connector) config(number int, id raft.ServerID) group.Config {
	own := c.opt.Common
	own.Number, own.ID, own.Log, own.Store = uint32(number), id, oncelog.New(own.Log.With("group", number)),
		c.opt.Stores[number-1]
	// only group 0 has these
	own.Groups, own.Replicas, own.ImportName, own.Report, own.Turns, own.Disk = 0, 0, nil, nil, nil, nil
	return own
}

// messenger sends the messages of a group's Raft.
func (c *connector) messenger(number int, id raft.ServerID) transport.Messenger {
	return c.links.Group(uint32(number), id)
}

// isPlaced reports whether a table names a replica, as far as this node knows. Only then is it made a member: a replica
// that leaves must not come back.
func (c *connector) isPlaced(number int, id raft.ServerID) bool {
	t := c.first.Cluster().Placement
	return t == nil || slices.Contains(t.Of(number), id)
}
