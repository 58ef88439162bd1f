package raftnode

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// loss is why Raft ended this node's leadership of a term.
type loss struct {
	term   uint64
	reason string
	silent string // the voters that did not answer, and for how long
	remedy string
}

// pause is a pause of this node as leader that lasted longer than asked: the process had no processor time.
type pause struct{ ended, late time.Duration }

// leaderTimeout is how long a leader that reaches no majority goes on trying. It is nearly as long as others wait
// before they elect another leader, because otherwise a moment without processor time would cost an election. The
// leader decides nothing in that time, because nothing is committed, and answers nothing without its lease, which is
// separate from Raft's.
func (n *Node) leaderTimeout() time.Duration { return n.heartbeat * 9 / 10 }

// noteState notes the beginning and the end of this node's leadership. Raft calls it while it changes its state: a
// moment later the term and the last answers would have changed.
func (n *Node) noteState(state raft.RaftState) {
	n.setTimeouts(state == raft.Leader)
	if state == raft.Leader {
		n.leadsSince.Store(max(1, int64(n.clock.Mono())))
	} else if since := n.leadsSince.Swap(0); since > 0 {
		n.lost.Store(n.explain(time.Duration(since)))
	}
}

// BeatsOfTimeout is how often in a heartbeat timeout a leader renews its lease, which sends a heartbeat to each
// follower.
const BeatsOfTimeout = 6

// setTimeouts sets Raft's timeouts. On a leader they only matter for a transfer and for Raft's own heartbeats, which it
// sends after a tenth to a fifth of the timeout without any, each group at a different time: with longer timeouts the
// renewals of the lease send all heartbeats. Raft calls setTimeouts before it reads the timeouts as a follower.
func (n *Node) setTimeouts(leads bool) {
	timeout := n.heartbeat
	if leads {
		timeout = n.heartbeat * 10 / BeatsOfTimeout
	}
	if err := n.Reload(func(c *raft.ReloadableConfig) {
		c.HeartbeatTimeout, c.ElectionTimeout = timeout,
			timeout
	}); err != nil {
		n.log.Error("Raft's timeouts cannot be set", "timeout", timeout, "error", err)
	}
}

// explain says why a leadership that began at since on the monotonic clock ends now.
func (n *Node) explain(since time.Duration) *loss {
	l := &loss{term: n.CurrentTerm()}
	voters, isVoter, least, silent := 0, false, time.Duration(0), []string(nil)
	for _, s := range n.Servers() {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		isVoter = isVoter || s.ID == n.ID
		silence := n.clock.Mono() - max(since, n.Transport.Follower(s.ID).Heard(l.term))
		if s.ID == n.ID || silence < n.leaderTimeout() {
			continue
		}
		if len(silent) == 0 || silence < least {
			least = silence
		}
		silent = append(silent, fmt.Sprintf("%s for %v", NodeName(s.ID), silence.Round(time.Millisecond)))
	}
	l.silent = strings.Join(silent, ", ")
	switch {
	case !isVoter:
		l.reason, l.remedy = "this node was removed from the voters", "none is needed"
	case 2*(voters-len(silent)) <= voters:
		l.reason = fmt.Sprintf("no majority of the %d voters has answered for %v", voters, least.Round(time.Millisecond))
		l.remedy = "check the silent nodes and the network; if they only answer slowly, raise --cluster-heartbeat on every node"
	default:
		l.reason = fmt.Sprintf("the other nodes elected a leader, because they had heard nothing from this one for %v", n.heartbeat)
		l.remedy = "check the network, and whether this machine is too busy; if it is, raise --cluster-heartbeat on every node"
	}
	return l
}

// NoteWake notes it if the leader wakes late from a pause.
func (n *Node) NoteWake(due time.Duration) {
	if now := n.clock.Mono(); now-due > n.heartbeat/4 {
		n.paused.Store(&pause{now, now - due})
	}
}

// LogLoss logs why this node no longer leads in a term, and what to do about it.
func (n *Node) LogLoss(term uint64, transferred bool) {
	l := n.lost.Load()
	switch {
	case transferred:
		n.log.Info("no longer the leader", "term", term, "reason", "leadership was transferred")
		return
	case l == nil || l.term < term:
		n.log.Info("no longer the leader", "term", term, "reason", "this node has given it up")
		return
	}
	fields, remedy := []any{"term", term, "reason", l.reason}, l.remedy
	if l.silent != "" {
		fields = append(fields, "silent", l.silent)
	}
	if p := n.paused.Load(); p != nil && n.clock.Mono()-p.ended < 2*n.heartbeat {
		fields = append(fields, "stood_still", p.late.Round(time.Millisecond))
		remedy = "this process had no processor time: give it more, or raise --cluster-heartbeat on every node"
	}
	n.log.Warn("no longer the leader", append(fields, "remedy", remedy)...)
}
