package metrics

import (
	"time"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server/upstream"
	"github.com/stintdb/stint/server/warn"
)

// Snapshot is everything that a server knows about itself at one instant.
type Snapshot struct {
	Version   string
	GoVersion string
	Uptime    time.Duration
	Ready     bool
	Ahead     time.Duration // how far the time of decisions is ahead of the machine's clock

	Commands       []Command // commands that were called or decide, in the order of the table of commands
	Received, Sent int64     // bytes

	Connections         int64
	ConnectionsAccepted int64
	ConnectionsRejected int64
	SlowReaders         int64 // connections closed because replies were not read
	Rejections          []Rejection
	Blocked             int64 // connections whose reply is held back
	Channels            int64 // channels with subscribers
	Subscriptions       int64 // subscriptions to channels

	Monitors       int64
	MonitorDropped int64 // lines
	SlowCommands   int64

	Keys         int64
	KeyBytes     int64
	MaxBytes     int64   // the limit of KeyBytes, 0 is none
	DatabaseKeys []int64 // the keys in each database
	Expired      int64
	LentKeys     int64
	Resident     int64 // bytes of the process

	MaxMemory int64                  // the limit of the process's memory in bytes, 0 is none
	Forced    admission.NewKeyCounts // decisions on new keys without room
	Quotas    []QuotaUsage           // at most MaxQuotas

	Policies    []PolicyCounts // at most MaxPolicies, and the sum of the rest
	PolicyCount int64

	Warnings warn.Counts

	DenialsWritten int64 // to the log
	DenialsLeftOut int64 // only counted

	TopDenied []DeniedKey // at most MaxTop
	TopWeight int64       // one in this many denials is counted

	Loops   int64
	LoopLag time.Duration // the longest lag of any loop

	Persistence *persistencestatus.Status // nil if nothing is kept on disk
	Cluster     *clusterstatus.Status     // nil for a standalone server
	Upstream    *upstream.Status          // nil without a home cluster
	HTTP        []HTTPCount               // requests over HTTP, by path and status
	Envoy       *EnvoyRules               // nil without Envoy's rate limit service
}

// The limits of labels whose values come from clients.
const (
	MaxPolicies = 100
	MaxTop      = 10
	MaxQuotas   = 100
	MaxRules    = 100
)

// OtherPolicies is the name under which further policies than MaxPolicies are added up.
const OtherPolicies = "(other)"

// PolicyCounts is the counters of a policy.
type PolicyCounts struct {
	Name                          string // printable
	Granted, Denied, ShadowDenied int64
}

// OtherPaths stands for all paths that the server does not have.
const OtherPaths = "(other)"

// HTTPCount is the number of requests to a path that were answered with a status.
type HTTPCount struct {
	Path     string
	Status   int
	Requests int64
}

// EnvoyRules are the rules of Envoy's rate limit service.
type EnvoyRules struct {
	Rules   int64
	Refused int64          // refused changes of the files
	Counts  []PolicyCounts // at most MaxRules, and the sum of the rest
	Control *ControlPlane  // nil if rules are in files
	Quotas  EnvoyQuotas
}

// ControlPlane is the state of the control plane that pushes rules.
type ControlPlane struct {
	Accepted, Refused int64 // pushes
	Connected         bool
	Age               time.Duration // of the rules in use, 0 if there are none
}

// EnvoyQuotas are the streams of Envoy's rate limit quota service.
type EnvoyQuotas struct {
	Streams, Buckets           int64
	Reports, Changes, Orphaned int64
	Abandoned, Unanswered      int64
}

// QuotaUsage is the number of keys that a quota counts.
type QuotaUsage struct {
	Name string // printable
	Keys int64
}

// DeniedKey is a key and the number of its denials in the last minutes.
type DeniedKey struct {
	Key          string // printable, or its hash
	Count, Error int64
}

// Rejection is a reason for which clients were rejected, and how often.
type Rejection struct {
	Reason string
	Count  int64
}
