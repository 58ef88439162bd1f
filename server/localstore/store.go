// Package localstore says what the server needs of the store in its process, beside decisions: these go through the
// decider. The implementations are the engine's store, and in a cluster those of package main.
package localstore

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
)

// Store is the whole of it. Its methods may be called from any goroutine.
type Store interface {
	Keyspace
	Memory
	Requests
	Counts
	// Sweep drops expired keys among the next ones, and returns how many keys it looked at and how many it dropped.
	Sweep(now int64, count int) (looked, dropped int)
	SetRules(r admission.Rules)
	SetQuotas(q *admission.Quotas)
	// TopLent is the n keys of which most tokens are lent.
	TopLent(now int64, n int) []keyspace.LentKey
}

// Keyspace is the keys and policies as commands look at them.
type Keyspace interface {
	Sizes
	Databases
	Policies
	Scan(cursor uint64, count int, now int64, visit func(keyspace.Entry)) (next uint64)
	ScanWhile(cursor uint64, count int, now int64, visit func(keyspace.Entry) (more bool)) (next uint64)
	Random(tries int, now int64, intN func(int) int, visit func(keyspace.Entry) (more bool))
}

// Sizes are the number of keys, and their memory in bytes.
type Sizes interface {
	Len() int
	Bytes() int64
}

// Databases are the numbers of keys in each database.
type Databases interface {
	DatabaseLen(number uint8) int
	LastDatabase() int // the highest number of a database that has been used
}

// Policies are the policies as this process knows them; in a cluster it may be late.
type Policies interface {
	PolicyNames() []string
	PoliciesSum() [engine.PoliciesSumBytes]byte // of all policies: another one after a change
	Policy(name string) (policy.Policy, bool)   // with all its overrides
	PolicyOf(name string, id []byte) (policy.Policy, bool)
	Overridden(name string, visit func(id string))
	PolicyTemplates(name string, visit func(key []byte) (more bool)) (found bool)
	PolicyKeys(name, id []byte, fields [][]byte, visit func(key []byte) (more bool)) (found bool)
	// Asked returns the limits that a request asks, those of home as purses have them.
	Asked(op *engine.Op) []engine.Op
}

// Requests are what a session asks about the operations of a request.
type Requests interface {
	// Weigh returns the work of operations with the keys as they are, in units of [engine.Result.Work].
	Weigh(ops []engine.Op) (work int)
	MayBeLarge(op *engine.Op, seeks bool) bool
	// TryReadOnly answers an operation from this process's state; done is false if it might change something, or if the
	// state is not here.
	TryReadOnly(now int64, op *engine.Op, res *engine.Result) (done bool)
	CountCheck(policy []byte, res *engine.Result)
	AppendPolicyKey(b, policy, id []byte, fields [][]byte, part int) []byte
	// LimitKeys calls visit for the key of each limit that a request, Extend or Settle asks, as far as this process knows
	// them.
	LimitKeys(op *engine.Op, visit func(key []byte))
}

// Memory is the store whose keys are held to their part of the process's memory.
type Memory interface {
	Sizes
	IdleBytes() int64
	ReservedBytes() int64
	NewKeys
	SetMaxBytes(bytes int64)
	// Pressure returns the operations by which the nodes of a cluster refuse new keys, or take them again. Every node
	// calls it, with whether its own keys have no room, and the leader proposes them.
	Pressure(rules admission.Rules, full bool) []engine.Op
}

// NewKeys are the counts of keys that were refused or admitted although memory is short.
type NewKeys interface {
	NewKeyCounts() admission.NewKeyCounts
}

// Counts are what INFO and metrics show of the store.
type Counts interface {
	NewKeys
	QuotaCounts(visit func(q admission.Quota, keys int64))
	PolicyCounts(visit func(policy.Policy))
	LentKeys() int64
	ScriptCount() int // that are kept for EVALSHA
}

// Replicas is the keyspace of a node of a cluster with groups, whose own Scan visits only the groups that it leads.
type Replicas interface {
	// ScanReplicas is ScanWhile with the keys of every group of which the node has a replica, which may be late.
	ScanReplicas(cursor uint64, count int, now int64, visit func(keyspace.Entry) (more bool)) (next uint64)
	// Elsewhere is the numbers of the groups of keys of which the node has no replica.
	Elsewhere() []int
}

// Elsewhere is the numbers of the groups whose keys are not here: see [Replicas].
func Elsewhere(keys Keyspace) []int {
	if of, is := keys.(Replicas); is {
		return of.Elsewhere()
	}
	return nil
}

// ScanReplicas visits the keys of all groups that are here: see [Replicas]. Without groups it is ScanWhile.
func ScanReplicas(keys Keyspace, cursor uint64, count int, now int64, visit func(keyspace.Entry) (more bool)) (next uint64) {
	if of, is := keys.(Replicas); is {
		return of.ScanReplicas(cursor, count, now, visit)
	}
	return keys.ScanWhile(cursor, count, now, visit)
}
