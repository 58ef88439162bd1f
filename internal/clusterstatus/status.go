// Package clusterstatus is the status of a cluster as plain values: package cluster fills them in, package server shows
// them, and neither knows the other.
package clusterstatus

import (
	"slices"
	"time"
)

// State is a node's current role.
type State string

// The states.
const (
	Starting  State = "starting"  // it belongs to no cluster yet
	Follower  State = "follower"  // it follows a leader
	Candidate State = "candidate" // it knows no leader and asks for votes
	Leader    State = "leader"    // it decides
	Gone      State = "gone"      // it was removed from the cluster, or has ended
)

// States returns all states.
func States() []State { return []State{Starting, Follower, Candidate, Leader, Gone} }

// Status is the cluster as one node sees it. Counters are the node's own, since it was started. A call is a batch of
// operations.
type Status struct {
	ClusterID string // the same on every node, "" until the cluster has been bootstrapped
	NodeID    string // --node-id
	State     State
	Healthy   bool // it decides, or follows a leader and has caught up with it
	Term      uint64

	LeaderID         string        // "" while none is known, as are the two below
	LeaderAddr       string        // its address for other nodes
	LeaderClientAddr string        // its address for clients
	LastLeaderID     string        // the leader, or the last known one, "" for none
	LastContact      time.Duration // since the last message from the leader; 0 on the leader

	LastLogIndex      uint64
	CommitIndex       uint64
	AppliedIndex      uint64
	LastSnapshotIndex uint64
	LastSnapshot      time.Time     // when it was begun: its state is of that moment; zero if there is none
	LogBytes          int64         // written to the log since the last snapshot, or since the start if that is later
	DiskStalled       bool          // a write to the log takes longer than --cluster-disk-timeout
	DiskErr           error         // of the last write to the log, nil if it succeeded
	ClockAhead        time.Duration // of the cluster's time before this node's own clock, 0 while the cluster has no time
	Time              int64         // the cluster's time at the last entry applied here, nanoseconds since the Unix epoch

	Entries            int64 // log entries proposed
	Rounds             int64 // times that entries were proposed, of several groups together or of one
	LogSyncs           int64 // of the log, each after a write of entries
	Decisions          int64 // operations applied from the log, whichever node proposed them
	DecidedReadOnly    int64 // operations answered from applied state, without an entry
	DecidedByAllowance int64 // operations answered from the leader's allowance, without an entry
	Forwarded          int64 // calls sent to the leader
	UncertainOutcomes  int64 // calls answered UNCERTAIN
	NoLeaderOutcomes   int64 // calls answered CLUSTERDOWN
	LeaderChanges      int64 // times that this node became the leader
	CommitLatency      Latency

	LocalDecisions int64 // requests answered from the tokens that this node holds
	LentTokens     int64 // that it holds and has not spent
	HeldKeys       int64 // keys that it holds tokens of, or did a moment ago
	Lends          int64 // operations on its loans that were carried out
	VoidedTokens   int64 // that count as spent because their holder has ended, while this node led

	Shared         SharedLimits
	SharedPatterns string // which nodes have which patterns of --cluster-shared; "" if all have the same

	FormatVersion uint32 // of the log's operations and entries: the newest that may be used, because every member knows it

	Members  []Member // this node among them
	Groups   []Group  // of keys; none where one leader decides all keys
	Replicas int      // of each group of keys; 0 for one on every node
	// LeaderlessText says which groups of keys have had no leader for a while, since when, and what to do; "" if all have one.
	LeaderlessText string

	AwaitsImport bool // the cluster does not have the whole state of --cluster-import yet
	Forming      bool // there are to be several groups of keys, which have not begun
}

// SharedLimits counts this node's requests with shared limits of other groups.
type SharedLimits struct {
	Requests int64
	Short    int64 // times that one found too few tokens in the asking group
	Denied   int64 // because home had no more tokens
	Lent     int64 // tokens that home lent
	Returned int64 // tokens that nobody used
}

// Group is one of the groups that have the keys. Each has a range of slots.
type Group struct {
	Number              int // from 1 on
	FirstSlot, LastSlot int
	LeaderID            string // "" while none is known
	LastLeaderID        string // the leader, or the last known one
	Term                uint64
	CommitIndex         uint64   // known here
	AppliedIndex        uint64   // here
	LogBytes            int64    // as in Status
	Healthy             bool     // here
	Voters              int      // that are reachable
	Replicas            []string // the nodes that vote
	Nonvoters           []string // its other members: nonvoters, and members that do not have the state yet
}

// Member is one node of the cluster.
type Member struct {
	ID           string
	Addr         string // its address for other nodes
	ClientAddr   string // its address for clients, "" if not known yet
	Voter        bool
	Leader       bool
	Reachable    bool          // it answers, and its Raft runs
	Healthy      bool          // by its own report, where there are groups of keys in group 0; see [Status]
	AppliedIndex uint64        // by its last report, 0 if there was none
	LastContact  time.Duration // since that report; 0 for this node

	FormatVersion uint32 // the newest that it knows

	UnhealthyGroups []int // the groups of keys with a replica there that is not healthy, or without a leader

	Report *Report // nil for a node without --admin or of an older version
}

// Report is the traffic of the clients of a node. The node sends it to the others.
type Report struct {
	Admin       string  `json:"admin,omitempty"` // where its page is, "" if other machines cannot reach it
	Connections int64   `json:"connections"`
	Granted     float64 `json:"granted"` // a second
	Denied      float64 `json:"denied"`

	Totals *Totals `json:"totals,omitempty"`
	Counts *Counts `json:"counts,omitempty"` // only while somebody looks at the page of the node that asks
}

// Totals counts the decisions of a node since its start: other nodes make its traffic over time from them.
type Totals struct {
	At      int64 `json:"at"` // in nanoseconds since the Unix epoch, by the cluster's time
	Granted int64 `json:"granted"`
	Denied  int64 `json:"denied"`

	Median float64 `json:"median"` // latency in seconds in the last second, 0 without commands
	Tail   float64 `json:"tail"`   // that 99 % do not exceed

	MinuteAt     int64   `json:"minuteAt"` // when the last whole minute ended, 0 for none
	MinuteMedian float64 `json:"minuteMedian"`
	MinuteTail   float64 `json:"minuteTail"`
}

// Counts is what pages add up over nodes. Its size is bounded: see package admin.
type Counts struct {
	Policies []PolicyCount `json:"policies"` // the first by name
	Bites    []Bite        `json:"bites"`    // those with the most denials
	Denials  int64         `json:"denials"`  // of all keys, in the last minutes
	Events   []Event       `json:"events,omitempty"`
}

// Event is something that happened at a node.
type Event struct {
	At   int64  `json:"at"`   // in milliseconds since the Unix epoch
	Kind string `json:"kind"` // see package events
	Text string `json:"text"`
	Bad  bool   `json:"bad,omitempty"`  // something is wrong now
	More int    `json:"more,omitempty"` // such events just before
	User string `json:"user,omitempty"` // by whom, "" for nobody
	From string `json:"from,omitempty"` // the user's address; admin/ and the browser's address for the page
	Node string `json:"node,omitempty"` // at which it happened, "" for this one
}

// PolicyCount is the decisions of a policy that a node has answered since it was started.
type PolicyCount struct {
	Name         string `json:"name"`
	Granted      int64  `json:"granted"`
	Denied       int64  `json:"denied"`
	ShadowDenied int64  `json:"shadowDenied"`
}

// Bite is a limit with the denials of the last minutes that a node knows of, for the keys denied most.
type Bite struct {
	Limit  string `json:"limit"` // with its policy, or with the first part of its keys for requests without a policy
	Denied int64  `json:"denied"`
	Keys   int    `json:"keys"`

	Since     int64   `json:"since,omitempty"` // when it began to deny without a pause, Unix milliseconds
	Last      int64   `json:"last,omitempty"`  // when it was last seen to deny
	PerSecond float64 `json:"perSecond,omitempty"`
	Recent    []int64 `json:"recent,omitempty"` // denials in spans of ten seconds, the newest last
}

// Latency counts durations: Counts[i] of them were at most Bounds[i] and longer than the bound before. The last of
// Counts, which has no bound, counts all longer ones.
type Latency struct {
	Bounds []time.Duration
	Counts []int64 // one more than Bounds
	Sum    time.Duration
}

// IsMember reports whether this node is a member, as far as it knows.
func (s *Status) IsMember() bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.ID == s.NodeID })
}

// HasLeader reports whether a leader is known.
func (s *Status) HasLeader() bool { return s.LeaderID != "" }

// Leaderless are the numbers of the groups of keys of which no leader is known.
func (s *Status) Leaderless() (numbers []int) {
	for i := range s.Groups {
		if s.Groups[i].LeaderID == "" {
			numbers = append(numbers, s.Groups[i].Number)
		}
	}
	return numbers
}
