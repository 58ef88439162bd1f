package metrics

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// Reading is everything a server knows about itself at one instant.
type Reading struct {
	Version   string
	GoVersion string
	Uptime    time.Duration
	Ready     bool

	Commands       []Command // those that came or decide, in the order of the table of commands
	Received, Sent int64     // bytes

	Connections         int64
	ConnectionsAccepted int64
	ConnectionsRejected int64
	SlowReaders         int64 // connections closed because replies were not read
	Refusals            []Refusal
	Blocked             int64 // connections whose reply is held back

	Monitors       int64
	MonitorDropped int64 // lines
	SlowCommands   int64

	Keys     int64
	KeyBytes int64
	MaxBytes int64 // bound on KeyBytes, 0 is none
	Expired  int64
	Resident int64 // bytes of the process

	MaxMemory int64         // bound on the process's memory in bytes, 0 is none
	Forced    engine.Forced // decisions on new keys without room
	Quotas    []Quota       // at most MaxQuotas

	Policies    []Policy // at most MaxPolicies, and the sum of the others
	PolicyCount int64

	TopDenied []Denied // at most MaxTop
	TopWeight int64    // how many denials each one looked at stands for

	Loops   int64
	LoopLag time.Duration // the longest of the loops'

	Keeper  *Keeper                // nil if nothing is kept on disk
	Cluster *command.ClusterStatus // nil if the server stands alone
}

// What bounds the labels whose values come from clients.
const (
	MaxPolicies = 100
	MaxTop      = 10
	MaxQuotas   = 100
)

// OtherPolicies is the name under which the policies beyond MaxPolicies are added up.
const OtherPolicies = "(other)"

// Policy is what a policy decided.
type Policy struct {
	Name                          string // printable
	Granted, Denied, ShadowDenied int64
}

// Quota is how many keys a quota counts.
type Quota struct {
	Name string // printable
	Keys int64
}

// Denied is a key and how often it was denied in the last minutes.
type Denied struct {
	Key          string // printable, or its hash
	Count, Error int64
}

// Refusal is a way in which somebody was kept out, and how often.
type Refusal struct {
	Reason string
	Count  int64
}

// Keeper is how state is kept on disk.
type Keeper struct {
	OK             bool // what is decided is being kept
	Saving         bool
	LastSave       time.Time // zero if there was none
	LastSaveOK     bool
	SnapshotBytes  int64
	SnapshotKeys   int64
	JournalBytes   int64
	JournalWritten int64     // bytes since the start
	FlushedUntil   time.Time // all decided before is in the kernel's hands at least
}
