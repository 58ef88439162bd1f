package command

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Membership is the server's view of the cluster it is a node of. A standalone server has none. Methods may be called
// from any goroutine and never block; each done is called once, from another goroutine.
type Membership interface {
	// Status describes the cluster as this node knows it. It is cheap enough to call for every INFO, CLUSTER and
	// scrape. The caller may keep the result.
	Status() clusterstatus.Status
	// Leads reports whether this node leads the cluster. It is very cheap.
	Leads() bool
	// Leaders returns a number that changes when the leader or term of any group changes, and is 0 while no leader is
	// known. It is very cheap.
	Leaders() uint64
	// AwaitsImport reports whether the cluster still lacks the state that it is to begin with. It costs as much as
	// Status.
	AwaitsImport() bool
	// Redirects reports whether this node redirects clients to the leader that decides an operation, instead of asking
	// the leader for them: with --redirect moved, if this node is not that leader. leader is the leader's address, ""
	// if none is known. It is called for every command.
	Redirects(op *engine.Op) (leader string, redirect bool)

	// TooNew explains why operations were answered with [engine.TooNew]. It names the operation, and a member that does
	// not know it.
	TooNew(ops []engine.Op) error

	// Add makes a node a member, or a non-voter a voter. addr is the address at which other nodes reach it.
	Add(id, addr string, voter bool, done func(error))
	// Remove ends a membership. It refuses to leave the cluster without a quorum.
	Remove(id string, done func(error))
	// Transfer hands leadership to a node, or with "" to the most up-to-date one.
	Transfer(id string, done func(error))
	// Snapshot makes this node write a snapshot and truncate its log.
	Snapshot(done func(error))

	// Wait waits until the given number of other nodes, at most all, hold everything that this node has acknowledged so
	// far, or until the timeout (0 is none), and reports how many do.
	Wait(replicas int, timeout time.Duration, done func(acknowledged int))
	// Barrier calls done when this node knows every policy that was acknowledged anywhere in the cluster before the
	// call, or with an error if that cannot be ensured.
	Barrier(done func(error))
}
