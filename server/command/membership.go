package command

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Membership is the door to the cluster this server is a node of. A server that stands alone has none. Its methods may
// be called from any goroutine and never wait; each done is called once, from another goroutine.
type Membership interface {
	// Status is how the cluster is doing as this node knows it. It is cheap enough for every INFO, CLUSTER and scrape;
	// the caller may keep it.
	Status() clusterstatus.Status
	// Leads reports whether this node leads the cluster, and Leaders stands for the leaders of its groups and their terms: another number, if
	// one of them is another, and 0 while none is known. Both are cheap enough for every moment.
	Leads() bool
	// AwaitsImport reports whether the cluster does not have the state yet that it begins with. It costs as much as Status.
	AwaitsImport() bool
	Leaders() uint64
	// Redirects reports whether this node sends clients to the leader that decides an operation (--redirect moved, and it is not that
	// leader) instead of asking the leader for them, and where to: "" while no leader is known. It is asked for every command.
	Redirects(op *engine.Op) (leader string, redirect bool)

	// TooNew is the reason why operations were answered with [engine.TooNew]. It names the operation, and a member that does not
	// know it.
	TooNew(ops []engine.Op) error

	// Add makes a node a member, or a non-voter a voter. Addr is where other nodes reach it.
	Add(id, addr string, voter bool, done func(error))
	// Remove ends a membership. It refuses what would leave the cluster without a quorum.
	Remove(id string, done func(error))
	// Transfer hands leadership to a node, or with "" to the one that is best off.
	Transfer(id string, done func(error))
	// Snapshot has this node write a snapshot and cut its log.
	Snapshot(done func(error))

	// Wait reports how many other nodes hold everything this node has acknowledged so far: when that many replicas do, or at
	// the timeout (0 is none). It does not wait for more nodes than the cluster has.
	Wait(replicas int, timeout time.Duration, done func(acknowledged int))
	// Barrier calls done once this node knows every policy acknowledged anywhere in the cluster before the call, or with
	// the reason why that can't be known.
	Barrier(done func(error))
}
