package group

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
)

// Statuses asks other nodes for their status and keeps the last of each: the machine does it for all of its groups.
type Statuses interface {
	// Last is the last status of another member, if there is one.
	Last(id raft.ServerID) (MemberStatus, bool)
	// IsAlive reports whether a node's status is recent and its Raft runs: only then is it reachable.
	IsAlive(r MemberStatus) bool
	// IsFresh reports whether a status is recent enough to rely on.
	IsFresh(r MemberStatus) bool
	// Fetch asks the node at an address for its status.
	Fetch(ctx context.Context, address string) (MemberStatus, error)
	// OtherAt reports whether a member's node answers at its address, and is another process than the one at a second
	// address.
	OtherAt(ctx context.Context, member raft.Server, second string) bool
	// FetchAll asks all other nodes for their status, and stores the answers.
	FetchAll(ctx context.Context, timeout time.Duration) []MemberStatus
	// ClaimedLeader returns the address of the node that reports to lead a cluster in the highest term; any cluster if it
	// is "".
	ClaimedLeader(cluster string) (address string)
	// NoteFormats takes a new version of a member from the log.
	NoteFormats(id raft.ServerID, newest fsm.FormatVersion)
	// Ask sends a request to the node at an address.
	Ask(ctx context.Context, address string, q Request) (Response, error)
}

// StatusRounds is the number of rounds of status requests for which a status is valid.
const StatusRounds = 3
