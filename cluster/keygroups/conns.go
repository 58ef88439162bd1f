package keygroups

import (
	"fmt"
	"net"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/transport"
)

// ForPeers adds the groups to the machine's connections.
func (k *Groups) ForPeers(c transport.Config) transport.Config {
	hello, check, onConnect, leads, serve := c.Hello, c.Check, c.OnConnect, c.Leads, c.Serve[transport.ForCalls]
	c.Hello = func(to raft.ServerID) transport.Hello {
		h := hello(to)
		h.Groups = k.stated()
		return h
	}
	c.Check = func(theirs transport.Hello) error {
		if theirs.Groups != k.stated() {
			return fmt.Errorf("the node '%s' has --groups %d, and this one --groups %d: all need the same", theirs.From,
				max(theirs.Groups, 1), max(k.opt.Common.Groups, 1))
		}
		// this node has lost its disk, and the others do not know that yet
		if theirs.Group != 0 && k.Replica(theirs.Group) == nil {
			return fmt.Errorf("this node has no group %d yet", theirs.Group)
		}
		return check(theirs)
	}
	c.OnConnect = func(from raft.ServerID) {
		onConnect(from)
		for _, g := range k.All() {
			if g.replica != nil {
				g.noteConnected(from)
			}
		}
	}
	c.Leads = func() bool {
		return leads() || slices.ContainsFunc(k.All(), func(g Group) bool { return g.replica != nil && g.conns.Leads() })
	}
	c.Serve[transport.ForCalls] = func(conn net.Conn, theirs transport.Hello) {
		if theirs.Group == 0 {
			serve(conn, theirs)
		} else if g := k.Group(int(theirs.Group)); g.replica != nil {
			g.conns.Serve[transport.ForCalls](conn, theirs)
		}
	}
	return c
}

// stated is the number of groups as hellos state it: 0 where group 0 has all keys.
func (k *Groups) stated() uint32 {
	if k.opt.Common.Groups < 2 {
		return 0
	}
	return uint32(k.opt.Common.Groups)
}
