package fsm

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

// A node's process is known by a random name, which it reports to the leader, and the leader writes into the log. Two
// processes of one node do not run at the same time, because each locks the directory that they share. So the name of a
// new process means that the one before has ended. A report states which name it is to replace, so a late report of an
// earlier process changes nothing.

// ProcessBody is the JSON of a KindProcess entry.
type ProcessBody struct {
	ID      raft.ServerID `json:"id"`
	Process string        `json:"process"`
	After   string        `json:"after"` // the node's process before; with another one nothing is changed
}

// withProcess returns a copy with another process of a member.
func (r *Cluster) withProcess(b ProcessBody) *Cluster {
	if _, isMember := r.Members[b.ID]; !isMember || r.Processes[b.ID] != b.After {
		return r
	}
	next := *r
	next.Processes = maps.Clone(r.Processes)
	if next.Processes == nil {
		next.Processes = map[raft.ServerID]string{}
	}
	next.Processes[b.ID] = b.Process
	return &next
}

// withoutProcess removes the process of a member that has left. The caller has made the copy.
func (r *Cluster) withoutProcess(id raft.ServerID) {
	if _, is := r.Processes[id]; is {
		r.Processes = maps.Clone(r.Processes)
		delete(r.Processes, id)
	}
}

// refuseLends makes a Lend bring nothing to a process that is no longer its node's: its loans have been voided, or will
// be. The Lend still states the tokens that the process has spent.
func (f *Machine) refuseLends() {
	for i := range f.ops {
		if f.ops[i].Verb != engine.Lend {
			continue
		}
		if id, process, ok := SplitHolder(f.ops[i].Who); ok && f.Cluster.Load().Processes[id] != process {
			f.ops[i].Tokens, f.ops[i].Options = 0, 0
		}
	}
}

// HolderName returns the name of a node's process as a holder of loans.
func HolderName(id raft.ServerID, process string) []byte {
	return fmt.Appendf(nil, "%s%s/%s", keyspace.NodeHolder, id, process)
}

// SplitHolder returns the node and the process from which HolderName made a name.
func SplitHolder(name []byte) (id raft.ServerID, process string, ok bool) {
	rest, ok := strings.CutPrefix(string(name), keyspace.NodeHolder)
	at := strings.LastIndexByte(rest, '/')
	if !ok || at < 0 {
		return "", "", false
	}
	return raft.ServerID(rest[:at]), rest[at+1:], true
}
