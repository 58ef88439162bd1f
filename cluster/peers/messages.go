package peers

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
)

// rpcWriteTimeout bounds the sending of an answer.
const rpcWriteTimeout = 2 * time.Second

// request is what one node asks of another: its status, its pledge, the state of a group, or what a group.Request asks
// of a member.
type request struct {
	Group  uint32         `json:"group,omitempty"` // the group that it is about
	Status *statusRequest `json:"report,omitempty"`
	group.Request
	Pledge *pledgeRequest `json:"pledge,omitempty"`
	State  *stateRequest  `json:"state,omitempty"`
	Left   raft.ServerID  `json:"left,omitempty"` // asks a leader whether this replica has left its group
}

// statusRequest asks a node for its status.
type statusRequest struct {
	Counts bool `json:"counts,omitempty"` // asks for the counts of its page too
}

// stateRequest asks a node for the state of a group, with the argument of [group.Group.OpenState].
type stateRequest struct {
	Stale bool `json:"stale,omitempty"`
}

// response answers a request.
type response struct {
	group.Response
	Status    *group.MemberStatus           `json:"report,omitempty"`
	HasLeft   bool                          `json:"left,omitempty"`
	KeyGroups map[uint32]group.MemberStatus `json:"groups,omitempty"` // with the status in group 0
}

// pledgeRequest asks a node for its pledge.
type pledgeRequest struct {
	Of raft.ServerID `json:"of"`
	To Pledge        `json:"to"`
}

// Pledge names the node to whose cluster another node has promised to belong.
type Pledge struct {
	Former  raft.ServerID `json:"former"` // "" for nobody
	Address string        `json:"address"`

	ImportName string `json:"import,omitempty"` // names the state that one of the nodes brings to the cluster; "" for none
}

// IsTo reports whether two pledges are to the same node.
func (p Pledge) IsTo(other Pledge) bool {
	return p.Former == other.Former && p.Address == other.Address
}

func errNoGroup(number uint32) error { return fmt.Errorf("this node has no group %d", number) }
