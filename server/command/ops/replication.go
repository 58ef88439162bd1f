package ops

import (
	"math"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Clients see a cluster in terms of Redis's replication: the leader is the master, every other node is its replica, and
// offsets are indexes of the Raft log.

// ModeAndRole returns the mode and the role of a server in Redis's terms. m is nil for a standalone server.
func ModeAndRole(m command.Membership) (mode, role string) {
	if m == nil {
		return "standalone", "master"
	}
	if st := m.Status(); st.State == clusterstatus.Leader || len(st.Groups) > 0 {
		return "cluster", "master"
	}
	return "cluster", "replica"
}

func runRole(s command.Session, w *resp.Writer, _ [][]byte) {
	m := s.Server().Membership()
	st := clusterstatus.Status{}
	if m != nil {
		st = m.Status()
	}
	if m == nil || len(st.Groups) > 0 {
		w.Array(3)
		w.BulkString("master")
		w.Int(int64(st.CommitIndex))
		w.Array(0)
		return
	}
	if st.State == clusterstatus.Leader {
		w.Array(3)
		w.BulkString("master")
		w.Int(int64(st.CommitIndex))
		followers := Followers(&st)
		w.Array(len(followers))
		for _, f := range followers {
			host, port := HostPort(f.ClientAddr)
			w.Array(3)
			w.BulkString(host)
			w.BulkString(command.FormatInt(port))
			w.BulkString(command.FormatInt(int64(f.AppliedIndex)))
		}
		return
	}
	link := "connected"
	if st.LeaderClientAddr == "" { // there is no leader, or it has not yet announced the address for clients
		link = "connect"
	}
	host, port := HostPort(st.LeaderClientAddr)
	w.Array(5)
	w.BulkString("slave")
	w.BulkString(host)
	w.Int(port)
	w.BulkString(link)
	w.Int(int64(st.AppliedIndex))
}

// Followers returns the nodes that follow the leader and can be reached.
func Followers(st *clusterstatus.Status) (followers []clusterstatus.Member) {
	for _, m := range st.Members {
		if !m.Leader && m.Reachable {
			followers = append(followers, m)
		}
	}
	return followers
}

// longestWaitMillis is longer than any connection lasts.
const longestWaitMillis = math.MaxInt64 / int64(time.Millisecond)

func runWait(s command.Session, w *resp.Writer, args [][]byte) {
	replicas, ok := command.ParseInteger(args[1])
	if !ok {
		w.Error(command.ErrNotInteger.Error())
		return
	}
	timeoutMillis, ok := command.ParseInteger(args[2])
	if !ok {
		w.Error(errTimeoutInteger.Error())
		return
	}
	if timeoutMillis < 0 {
		w.Error(command.ErrTimeoutNegative.Error())
		return
	}
	m := s.Server().Membership()
	switch {
	case m == nil:
		w.Int(0)
	case !s.MayAwait():
		w.Int(acknowledgedBy(m))
	default:
		s.AwaitReply(func(done func(func(*resp.Writer))) {
			m.Wait(int(min(max(replicas, 0), math.MaxInt32)), time.Duration(min(timeoutMillis, longestWaitMillis))*time.Millisecond, func(n int) {
				done(func(w *resp.Writer) { w.Int(int64(n)) })
			})
		})
	}
}

// acknowledgedBy is the number of other nodes that certainly store everything acknowledged so far: a majority of the
// voters does, which may include this node.
func acknowledgedBy(m command.Membership) int64 {
	st, voters := m.Status(), 0
	for _, n := range st.Members {
		if n.Voter {
			voters++
		}
	}
	return int64(voters / 2)
}
