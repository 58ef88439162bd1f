package cluster

import (
	"context"
	"maps"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// A node's process is known by a random name, which it reports to the leader, and the leader writes into the log. Two processes of one
// node do not run at the same time, because they share a directory that each one locks. So the name of the next one means that the one
// before has ended. A report states which name it is to replace: a late report of the one before does not come back.

// processBody is the JSON of a kindProcess entry.
type processBody struct {
	ID      raft.ServerID `json:"id"`
	Process string        `json:"process"`
	After   string        `json:"after"` // the node's process before; otherwise nothing is changed
}

// withProcess returns a copy with another process of a member.
func (r *clusterState) withProcess(b processBody) *clusterState {
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
func (r *clusterState) withoutProcess(id raft.ServerID) {
	if _, is := r.Processes[id]; is {
		r.Processes = maps.Clone(r.Processes)
		delete(r.Processes, id)
	}
}

// refuseLends has a Lend for a process bring nothing that is not its node's any longer: its loans are voided, or were. It still states
// the tokens which that process has spent.
func (f *fsm) refuseLends() {
	for i := range f.ops {
		if f.ops[i].Verb != engine.Lend {
			continue
		}
		if id, process, ok := splitHolder(f.ops[i].Who); ok && f.cluster.Load().Processes[id] != process {
			f.ops[i].Tokens, f.ops[i].Options = 0, 0
		}
	}
}

// recordProcesses runs on the leader. It writes the processes that members report into the log.
func (ms *membership) recordProcesses(ctx context.Context) {
	if ms.fsm.cluster.Load().formats() < ms.formats.ofKind(kindProcess) {
		return
	}
	for _, s := range ms.raft.servers() {
		told := ms.ownProcess()
		if s.ID != ms.raft.id {
			r, heard := ms.statuses.last(s.ID)
			if !heard || !ms.statuses.isAlive(r) {
				continue
			}
			told = processBody{s.ID, r.Process, r.ProcessBefore}
		}
		known := ms.fsm.cluster.Load()
		if _, isMember := known.Members[s.ID]; !isMember || told.Process == "" || told.Process == known.Processes[s.ID] || known.Processes[s.ID] != told.After {
			continue
		}
		if err := ms.formats.propose(ctx, kindProcess, told); err != nil {
			ms.log.once("process "+string(s.ID), "cannot record a member's process yet", "id", s.ID, "error", err)
		}
	}
}
