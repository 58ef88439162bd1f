package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/slot"
)

// Backup writes the cluster's state, with everything acknowledged before the call, in the format of package persistence: that of
// [group.Group.OpenState], with stale too, of one group after the other. Of a group without a replica here another node sends it. It returns the number
// of keys written.
//
// Tokens that nodes and groups held then count as spent. Missing are the tokens of the leaders' allowances: limits that are full again
// within [limits.MaxAllowanceTime].
func (n *Node) Backup(ctx context.Context, to io.Writer, stale bool) (keys int64, err error) {
	groups := n.keys.all()
	if n.router != nil && len(groups) == 0 {
		return 0, errors.New("the groups of keys have not begun yet: try again when CLUSTER INFO has cluster_state:ok")
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
	return fsm.WriteBackup(to, states, func(number int, e *keyspace.Entry) bool {
		return number == 0 || isOfGroup(e, number, len(groups)) // or a purse: its tokens are lent, at home
	})
}

// isOfGroup reports whether a group of keys has the slot of an entry's key.
func isOfGroup(e *keyspace.Entry, number, groups int) bool {
	return slot.GroupOf(slot.Of(database.KeyOf(e.Key)), groups) == number
}
