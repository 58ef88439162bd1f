package metrics

import (
	"time"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server/upstream"
	"github.com/stintdb/stint/server/warn"
)

// Snapshot is everything a server knows about itself at one instant.
type Snapshot struct {
	Version   string
	GoVersion string
	Uptime    time.Duration
	Ready     bool
	Ahead     time.Duration // of the time of decisions, before the machine's clock

	Commands       []Command // those that came or decide, in the order of the table of commands
	Received, Sent int64     // bytes

	Connections         int64
	ConnectionsAccepted int64
	ConnectionsRejected int64
	SlowReaders         int64 // connections closed because replies were not read
	Rejections          []Rejection
	Blocked             int64 // connections whose reply is held back
	Channels            int64 // that have subscribers
	Subscriptions       int64 // to them

	Monitors       int64
	MonitorDropped int64 // lines
	SlowCommands   int64

	Keys         int64
	KeyBytes     int64
	MaxBytes     int64   // bound on KeyBytes, 0 is none
	DatabaseKeys []int64 // of Keys, by the numbers of the databases
	Expired      int64
	LentKeys     int64
	Resident     int64 // bytes of the process

	MaxMemory int64                  // bound on the process's memory in bytes, 0 is none
	Forced    admission.NewKeyCounts // decisions on new keys without room
	Quotas    []QuotaUsage           // at most MaxQuotas

	Policies    []PolicyCounts // at most MaxPolicies, and the sum of the others
	PolicyCount int64

	Warnings warn.Counts

	TopDenied []DeniedKey // at most MaxTop
	TopWeight int64       // how many denials each one looked at stands for

	Loops   int64
	LoopLag time.Duration // the longest of the loops'

	Persistence *persistencestatus.Status // nil if nothing is kept on disk
	Cluster     *clusterstatus.Status     // nil if the server stands alone
	Upstream    *upstream.Status          // nil without a home cluster
	HTTP        []HTTPCount               // of requests over HTTP, where there were any
	Envoy       *EnvoyRules               // nil without Envoy's rate limit service
}

// What bounds the labels whose values come from clients.
const (
	MaxPolicies = 100
	MaxTop      = 10
	MaxQuotas   = 100
	MaxRules    = 100
)

// OtherPolicies is the name under which the policies beyond MaxPolicies are added up.
const OtherPolicies = "(other)"

// PolicyCounts is the counters of a policy.
type PolicyCounts struct {
	Name                          string // printable
	Granted, Denied, ShadowDenied int64
}

// OtherPaths stands for the paths that the server does not have.
const OtherPaths = "(other)"

// HTTPCount is how many requests to a path were answered with a status.
type HTTPCount struct {
	Path     string
	Status   int
	Requests int64
}

// EnvoyRules are the rules of Envoy's rate limit service.
type EnvoyRules struct {
	Rules   int64
	Refused int64          // changes of the files
	Counts  []PolicyCounts // of at most MaxRules, and the sum of the others
	Control *ControlPlane  // nil if rules are in files
	Quotas  EnvoyQuotas
}

// ControlPlane is what pushes rules.
type ControlPlane struct {
	Accepted, Refused int64 // pushes
	Connected         bool
	Age               time.Duration // of the rules in use, 0 without any
}

// EnvoyQuotas are the streams of Envoy's rate limit quota service.
type EnvoyQuotas struct {
	Streams, Buckets           int64
	Reports, Changes, Orphaned int64
	Abandoned, Unanswered      int64
}

// QuotaUsage is how many keys a quota counts.
type QuotaUsage struct {
	Name string // printable
	Keys int64
}

// DeniedKey is a key and how often it was denied in the last minutes.
type DeniedKey struct {
	Key          string // printable, or its hash
	Count, Error int64
}

// Rejection is a way in which somebody was kept out, and how often.
type Rejection struct {
	Reason string
	Count  int64
}
