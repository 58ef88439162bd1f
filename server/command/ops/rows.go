// Package ops has the commands about connections, users, the server and the cluster. A row has Run, which replies
// through its [command.Session].
package ops

import (
	"slices"

	"github.com/stintdb/stint/server/command"
)

// Rows returns the rows of the commands about connections and the server, in the order of the handbook.
func Rows() []command.Row {
	return slices.Concat(pubSubRows, transactionRows, connectionRows, clientRows, aclRows, serverRows, memoryRows, topRows, slowlogRows, latencyRows, monitorRows, clusterRows, raftRows, commandRows)
}
