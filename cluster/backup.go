package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine/keyspace"
)

// Backup writes the cluster's state, with everything acknowledged before the call, in the format of package
// persistence. It writes one group after the other, each as [group.Group.OpenState] returns it; another node sends the
// state of a group without a replica here. It returns the number of keys written.
//
// Tokens that nodes and groups held count as spent. Tokens that leaders granted from their allowances are not in it:
// they come from limits that are full again within [limits.MaxAllowanceTime].
func (n *Node) Backup(ctx context.Context, to io.Writer, stale bool) (keys int64, err error) {
	groups := n.keys.All()
	if n.router != nil && len(groups) == 0 {
		return 0, errors.New("the groups of keys have not started yet: try again when CLUSTER INFO has cluster_state:ok")
	}
	if n.lacksImport() {
		return 0, fmt.Errorf("%w: try again when CLUSTER INFO has cluster_state:ok", ErrImporting)
	}
	var states []io.Reader
	for number := range len(groups) + 1 {
		state, err := n.openState(ctx, number, stale)
		if err != nil && n.router != nil {
			err = fmt.Errorf("group %d: %w", number, err)
		}
		if err != nil {
			return 0, err
		}
		defer state.Close()
		states = append(states, state)
	}
	return fsm.WriteBackup(to, states, func(e *keyspace.Entry) bool { return !isPurse(e) })
}

// isPurse reports whether an entry is tokens that its key's home has lent to this cluster or to one of its groups, or a
// reservation of some. The home has lent them to that borrower alone, so no copy may have them.
func isPurse(e *keyspace.Entry) bool {
	view, err := e.Reserved()
	return e.Limit.Algorithm.IsPurse() || err == nil && view.IsFromPurses()
}

// openState returns the state of a group, which another node sends if this one has no replica. Without stale it awaits
// a leader, as [group.Group.OpenState] does.
func (n *Node) openState(ctx context.Context, number int, stale bool) (io.ReadCloser, error) {
	if g := n.groupOf(uint32(number)); g != nil {
		return g.OpenState(ctx, stale)
	}
	for until := time.Now().Add(group.LeaderTimeout); ; clock.Sleep(ctx, retryAfter) {
		err := errors.New("none of the nodes with a replica answers: start one")
		if !stale {
			err = fmt.Errorf("%w; try again when it has one, or with --stale", group.ErrNoLeader)
		}
		for _, s := range n.first.Members() {
			if r, has := n.statuses.OfKeyGroups(s.ID)[uint32(number)]; !has || !stale && !r.Leads {
				continue
			}
			state, failed := n.statuses.FetchState(ctx, string(s.Address), number, stale)
			if failed == nil {
				return state, nil
			}
			err = fmt.Errorf("%s: %w", s.Address, failed)
		}
		if stale || ctx.Err() != nil || time.Now().After(until) {
			return nil, fmt.Errorf("this node has no replica of it, and no other sends its state: %w", err)
		}
	}
}
