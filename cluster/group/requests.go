package group

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Request asks the leader for a change of members. Exactly one of its fields is set.
type Request struct {
	Join  *JoinRequest  `json:"join,omitempty"`
	Admin *AdminRequest `json:"admin,omitempty"`
}

// Response answers a request.
type Response struct {
	Error  string `json:"error,omitempty"`
	Leader string `json:"leader,omitempty"` // where to ask instead
}

// MemberStatus is a node's report on itself.
type MemberStatus struct {
	ID        raft.ServerID `json:"id"`
	ClusterID string        `json:"cluster"` // "" while it has none
	Started   bool          `json:"started"` // it has a log: it was a member of some cluster
	Client    string        `json:"client"`
	Leads     bool          `json:"leads"`
	Leased    bool          `json:"leased"` // no other node can lead: this one has applied everything acknowledged
	Leader    string        `json:"leader"` // the presumed leader's address
	Term      uint64        `json:"term"`
	Applied   uint64        `json:"applied"`
	Last      uint64        `json:"last"`
	Now       int64         `json:"now"`    // the cluster's time by its clock, 0 if unknown
	Silent    time.Duration `json:"silent"` // since its last contact with a leader, 0 if it leads
	// Problems; a node of an older version does not report them.
	Unhealthy  bool              `json:"unhealthy,omitempty"` // see health.isHealthy
	Gone       bool              `json:"gone,omitempty"`      // its Raft has ended
	Pledged    raft.ServerID     `json:"pledged,omitempty"`   // see pledge; while it has no log
	Slow       bool              `json:"slow,omitempty"`      // see withdrawal.isSlow
	Formats    fsm.FormatVersion `json:"formats,omitempty"`   // the newest that the node knows
	Advertise  string            `json:"advertise,omitempty"` // where other nodes reach it; an older node does not say
	ImportName string            `json:"import,omitempty"`    // the state that the node brings to a new cluster
	Full       bool              `json:"full,omitempty"`      // the node's keys take all the memory that they may
	Shared     *string           `json:"shared,omitempty"`    // its patterns of shared limits, sorted; nil if older

	// Process is the name of the node's process, and ProcessBefore the name that the log has, as far as the node knows it.
	Process       string `json:"process,omitempty"`
	ProcessBefore string `json:"processBefore,omitempty"`

	Report *clusterstatus.Report `json:"traffic,omitempty"`

	// Members are the members of a group of keys with replicas on some nodes, as its leader knows them, and whether each
	// votes.
	Members map[raft.ServerID]bool `json:"members,omitempty"`

	Address string    `json:"-"` // where it was asked
	At      time.Time `json:"-"` // when
}

// JoinRequest asks the leader to make a node a member.
type JoinRequest struct {
	ID      raft.ServerID `json:"id"`
	Address string        `json:"address"`
	Member  fsm.Member    `json:"member"`
}

// AdminRequest is an operator's request to the leader.
type AdminRequest struct {
	Do       string `json:"do"` // add, remove or transfer
	Node     string `json:"node,omitempty"`
	Address  string `json:"address,omitempty"`
	Nonvoter bool   `json:"spare,omitempty"`
	Again    bool   `json:"again,omitempty"` // a removal that did not end everywhere
}

// RPCTimeout bounds a request and its answer. Changing members takes a few rounds of the log.
const RPCTimeout = 15 * time.Second

// handle carries out another node's request, if this node leads.
func (ms *membership) handle(ctx context.Context, q Request) (a Response) {
	var err error
	switch {
	case ms.role.awaitActive() == nil:
		err = ErrNoLeader
	case q.Join != nil:
		err = ms.join(ctx, *q.Join, false)
	case q.Admin != nil:
		err = ms.handleAdmin(ctx, *q.Admin)
	default:
		err = errors.New("unknown request; is this node's version older?")
	}
	if err != nil {
		a.Error = err.Error()
	}
	if errors.Is(err, ErrNoLeader) || errors.Is(err, errHandedOver) {
		a.Leader = ms.leader.address()
	}
	return a
}

// handleAdmin executes an operator's request.
func (ms *membership) handleAdmin(ctx context.Context, o AdminRequest) error {
	switch o.Do {
	case "add":
		return ms.add(ctx, o)
	case "remove":
		return ms.remove(ctx, o)
	case "transfer":
		return ms.raft.Await(ctx, func() error { return ms.transfers.transfer(o.Node) })
	}
	return errors.New("unknown request; is this node's version older?")
}

// askLeader sends a request to the leader, or handles it here if this node leads.
func (ms *membership) askLeader(ctx context.Context, q Request) error {
	return ms.ask(ctx, ms.leaderAddress(), q)
}

// leaderAddress is this node's own if it leads, and "" if no leader is known.
func (ms *membership) leaderAddress() string {
	if ms.role.current.Load() != nil {
		return ms.opt.Advertise
	}
	return ms.leader.address()
}

// ask sends a request to a node that may lead, and where that one sends it.
func (ms *membership) ask(ctx context.Context, address string, q Request) error {
	return Ask(address, func(address string) (Response, error) {
		if address == ms.opt.Advertise {
			return ms.handle(ctx, q), nil
		}
		return ms.statuses.Ask(ctx, address, q)
	})
}

// Ask sends a request to a node that may lead, and where that one sends it. It returns [ErrNoLeader] if that ends at no
// leader.
func Ask(address string, send func(address string) (Response, error)) error {
	for tries := 0; address != "" && tries < 3; tries++ {
		a, err := send(address)
		switch {
		case err != nil || a.Error == "":
			return err
		case a.Leader != "" && a.Leader != address:
			address = a.Leader
		case a.Error == ErrNoLeader.Error():
			return ErrNoLeader
		default:
			return errors.New(a.Error)
		}
	}
	return ErrNoLeader
}

// ErrNoLeader is wrapped by the errors of operations that only a leader can do, while none is known.
var ErrNoLeader = errors.New("the cluster has no leader at the moment")
