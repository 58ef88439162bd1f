package cluster

import (
	"fmt"
	"net"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/transport"
)

// forPeers adds the groups to the machine's connections.
func (k *keyGroups) forPeers(c transport.Config) transport.Config {
	hello, check, onConnect, leads, serve := c.Hello, c.Check, c.OnConnect, c.Leads, c.Serve[transport.ForCalls]
	c.Hello = func(to raft.ServerID) transport.Hello {
		h := hello(to)
		h.Groups = k.stated()
		return h
	}
	c.Check = func(theirs transport.Hello) error {
		if theirs.Groups != k.stated() {
			return fmt.Errorf("the node '%s' has --groups %d, and this one --groups %d: all need the same", theirs.From, max(theirs.Groups, 1), max(k.opt.Groups, 1))
		}
		if theirs.Group != 0 && k.numbered(theirs.Group) == nil { // it lost its disk, and those who ask do not know that yet
			return fmt.Errorf("this node has no group %d yet", theirs.Group)
		}
		return check(theirs)
	}
	c.OnConnect = func(from raft.ServerID) {
		onConnect(from)
		for _, g := range k.all() {
			if g.Group != nil {
				g.noteConnected(from)
			}
		}
	}
	c.Leads = func() bool {
		return leads() || slices.ContainsFunc(k.all(), func(g keyGroup) bool { return g.Group != nil && g.conns.Leads() })
	}
	c.Serve[transport.ForCalls] = func(conn net.Conn, theirs transport.Hello) {
		if theirs.Group == 0 {
			serve(conn, theirs)
		} else if g := k.entry(theirs.Group); g.Group != nil {
			g.conns.Serve[transport.ForCalls](conn, theirs)
		}
	}
	return c
}

// stated is the number of groups as hellos say it: nothing where group 0 has all keys.
func (k *keyGroups) stated() uint32 {
	if k.opt.Groups < 2 {
		return 0
	}
	return uint32(k.opt.Groups)
}
