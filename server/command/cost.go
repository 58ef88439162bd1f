package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// Cost classifies what a command costs in the worst case, with the largest state that a user can create. Every row of
// the table declares one.
type Cost uint8

// The classes.
const (
	undeclared     Cost = iota
	Light               // a limit, a key or a few words
	HolderLookup        // looks through the holders of a concurrency limit
	EntryList           // lists holders, the members of a fair share, or the grants of a sliding log
	ValueCopy           // copies a value of data
	ValuePass           // looks at every string in a value
	ValueSort           // sorts the strings of values
	ScriptRun           // runs a script
	LogCopy             // may copy a sliding log, or a fair share
	PolicyCheck         // asks several limits
	PolicyChange        // stores the limits of a policy or a caller
	PolicyList          // looks at every policy
	ShardPass           // looks at every shard, and at few keys
	KeyStep             // looks at a limited number of keys
	KeyPass             // concerns every key
	ConnectionPass      // looks at every connection
	UserList            // looks at every user
	Report              // writes a text or a list whose length the server limits
	LongText            // writes the table of commands, or measurements of each
	Information         // a report on the whole server
)

// MaxBatchWork is the work after which a batch is decided, and about what a connection may use in one turn: 10 ms at
// most. A command that costs this much is decided alone.
const MaxBatchWork = 64 * limits.MaxHolders

// MaxExecWork limits the work of all commands in one transaction.
const MaxExecWork = 4 * MaxBatchWork

// maxWork is the maximum work of each class, in units of [engine.Result.Work], which take 3 to 15 ns. It applies to
// each operation or limit of a command, or to the whole command if it has none. Only FLUSHALL may exceed it. The
// comments have the maximum size of a reply, and the reason.
var maxWork = [...]int{
	Light:          store.OpWork,                             // 2 KiB; nothing grows
	HolderLookup:   store.MaxHolderWork,                      // 1 KiB; a concurrency limit has at most engine.MaxHolders
	EntryList:      MaxBatchWork,                             // engine.MaxListedBytes; decided alone
	ValueCopy:      2*engine.MaxValueBytes/64 + store.OpWork, // engine.MaxValueBytes; a value is copied, and copied back
	ValuePass:      MaxBatchWork,                             // 4 MiB; 100,000 strings in a value
	ValueSort:      MaxBatchWork,                             // 2 MiB; maxCombined members
	ScriptRun:      MaxBatchWork,                             // 16 MiB; a script ends after its budget of steps; decided alone
	LogCopy:        store.MaxLogWork,                         // 1 KiB; a log is copied when it grows, or is changed during a snapshot
	PolicyCheck:    4 * store.MaxHolderWork,                  // 4 KiB; a policy has at most 64 limits; 4 of them are assumed to be concurrency limits
	PolicyChange:   5_000,                                    // 1 KiB; 64 limits; during a snapshot the first change copies all policies
	PolicyList:     MaxBatchWork,                             // 300 KiB; at most 1000 policies of 64 limits, or the ids of 100,000 overrides
	ShardPass:      5_000,                                    // 5 KiB; 1024 shards, and 100 keys at random or 1000 keys in all
	KeyStep:        MaxBatchWork,                             // 512 KiB; at most 10,000 keys, 256 KiB and 2^20 steps of matching in a step
	KeyPass:        MaxBatchWork,                             // 4 MiB; KEYS, and FLUSHDB of many keys, leave the event loop; FLUSHALL looks at every key
	ConnectionPass: MaxBatchWork,                             // 4 MiB; at most --max-clients; a long CLIENT LIST leaves the event loop
	UserList:       MaxBatchWork,                             // 4 MiB; users are made by operators
	Report:         5_000,                                    // 256 KiB; the server bounds its lists
	LongText:       20_000,                                   // 512 KiB; limited by the number of commands, or of keys whose denials are counted
	Information:    100_000,                                  // 512 KiB; all counters, and measurements of the system
}

// The work of data commands for each string in a value, in addition to copying the value. BenchmarkLargestValues and
// BenchmarkScriptsOnLargestValues check these numbers.
const (
	LookWork  = 2  // comparing a string with another
	WalkWork  = 6  // visiting a string in a loop over all
	IndexWork = 10 // adding a string to an index
	SortWork  = 20 // sorting a string among others
	WriteWork = 2  // writing a string to the reply
	WordWork  = 6  // what writing it costs in addition if a client called the command, not a script

	BlockWork = 30 // finding or changing a string in a value in blocks

	answerWork = 30 // looking up, removing and writing a string
)

// CopyWork is the work of copying a value.
func CopyWork(data []byte) int { return len(data) / 64 }

// WeighsData reports whether the work of the row depends on what its keys hold: see [store.Commands].
func (r *Row) WeighsData() bool { return r.Cost >= ValuePass && r.Cost <= ScriptRun }

// WeighUnseen is the work that a data command may take at most, whatever number of elements its keys hold, if none of
// them is longer than a block. ok is false if it depends on more than that.
func (r *Row) WeighUnseen(args [][]byte) (work int, ok bool) {
	if !r.Seeks || r.Flags&Fast == 0 && r.Cost == ValuePass || len(args) > fewArgs || r.Answers != nil && r.Answers(args, large.MaxBytes) > 1 {
		return 0, false
	}
	return r.WeighData(args, large.MaxBytes, 0), true
}

// fewArgs is the number of arguments, the name included, up to which a command looks for few elements.
const fewArgs = 6

// WeighData estimates the maximum work of a data command on keys that hold a number of bytes in short strings, the
// longest of which has a number of bytes.
func (r *Row) WeighData(args [][]byte, held, longest int) int {
	times := 2
	switch {
	case r.Cost == ValueSort:
		times = 200
	case r.Cost == ValuePass && r.Flags&Fast != 0 && len(args) <= fewArgs: // the value is copied for each of a few members
		times = len(args)
	case r.Cost == ValuePass:
		times = 40
	}
	work, answers, visited := store.OpWork+len(args)*SortWork, 0, 1
	if r.Answers != nil {
		answers = min(r.Answers(args, held), MaxBatchWork)
		work += answers * answerWork
		visited += answers
	}
	if r.Visits != nil {
		visited = r.Visits(args, held)
	}
	if held > large.From && (r.Seeks || r.Visits != nil) {
		held = min(held, max(visited*(longest+store.StringHead), blockBytes))
		work += len(args) * 2 * BlockWork
	}
	return min(work+times*held/64, MaxBatchWork)
}

// blockBytes is about the bytes that a change of a value in blocks copies.
const blockBytes = 1 << 10

// The work of a write does not grow with the number of connections that it concerns, such as trackers or subscribers:
// see server/DESIGN.md. Only a client that waits for keys is charged for their number.

// waitWork is the work for each key that a client waits for: joining the queue, looking at the key, leaving the queue.
const waitWork = 60

// WaitWork is the work of waiting for a number of keys, without the work of the attempts.
func WaitWork(keys int) int { return waitWork * keys }

// ReplyBytes estimates the maximum reply of a command with this much work, which is not a script. It is 0 if the reply
// is short.
func (r *Row) ReplyBytes(work int) int {
	switch {
	case work < replyWork:
		return 0
	case r.Cost == ValueCopy || r.Cost == ValuePass && r.Flags&Fast != 0:
		return 64 * work / 2
	}
	return 64 * work / 40
}

// replyWork is the work below which replies are short. It is enough to copy 64 KiB twice.
const replyWork = 2 * (64 << 10) / 64

// Work is the maximum work of each operation of the row, or of the whole command if it has none.
func (r *Row) Work() int { return r.work }

// WorkOf is the maximum work of a command's operations. For several limits in one request, it is their sum.
func (r *Row) WorkOf(ops []engine.Op) (work int) {
	if len(ops) != 1 || ops[0].Request().Verb != engine.AcquireAll {
		return r.work * len(ops)
	}
	parts := ops[0].Request().Parts
	for i := range parts {
		work += maxWork[AcquireCost(parts[i].Limit.Algorithm)]
	}
	return work
}

func (r *Row) mustHaveCost() {
	if r.Cost == undeclared && !r.IsContainer() {
		panic("command: " + r.FullName + " declares no Cost")
	}
	r.work = maxWork[r.Cost]
}

// AcquireCost is the cost of asking a limit of this algorithm.
func AcquireCost(a limits.Algorithm) Cost {
	switch a {
	case limits.Concurrency, limits.Class, limits.Balance:
		return HolderLookup
	case limits.SlidingLog, limits.FairShare:
		return LogCopy
	}
	return Light
}
