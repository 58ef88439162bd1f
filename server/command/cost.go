package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// Cost is the class of a command's cost in the worst case, with the largest state that a user can make. Every row of the table
// declares one.
type Cost uint8

// The classes.
const (
	undeclared     Cost = iota
	Light               // a limit, a key or a few words
	HolderLookup        // looks through the holders of a concurrency limit
	EntryList           // lists them, the members of a fair share, or the grants of a sliding log
	ValueCopy           // copies a value of data
	ValuePass           // looks at every string in a value
	ValueSort           // sorts the strings of values
	ScriptRun           // runs a script
	LogCopy             // may copy a sliding log, or a fair share
	PolicyCheck         // asks several limits
	PolicyChange        // keeps the limits of a policy or a caller
	PolicyList          // looks at every policy
	ShardPass           // looks at every shard, and at some keys at most
	KeyStep             // looks at a bounded number of keys
	KeyPass             // has to do with every key
	ConnectionPass      // looks at every connection
	UserList            // looks at every user
	Report              // writes a text or a list whose length the server's own bounds set
	LongText            // the table of commands, or measurements of each
	Information         // a report on the whole server
)

// MaxBatchWork is the work after which a batch is decided, and about the work of a connection's turn, 10 ms at most. A command that costs as much is decided alone.
const MaxBatchWork = 64 * limits.MaxHolders

// MaxExecWork is the most that the commands of one transaction may take together.
const MaxExecWork = 4 * MaxBatchWork

// maxWork is the most work of each class; the comments have the most bytes of a reply, and the reason. Work is in units of
// [engine.Result.Work], 3 to 15 ns. It is for each operation or limit of a command, or for the whole command if it has none.
// FLUSHALL alone is not held to it.
var maxWork = [...]int{
	Light:          store.OpWork,                             // 2 KiB; nothing grows
	HolderLookup:   store.MaxHolderWork,                      // 1 KiB; a concurrency limit has at most engine.MaxHolders
	EntryList:      MaxBatchWork,                             // engine.MaxListedBytes; decided alone
	ValueCopy:      2*engine.MaxValueBytes/64 + store.OpWork, // engine.MaxValueBytes; a value is copied, and copied back
	ValuePass:      MaxBatchWork,                             // 4 MiB; 100,000 strings in a value
	ValueSort:      MaxBatchWork,                             // 2 MiB; maxCombined members
	ScriptRun:      MaxBatchWork,                             // 16 MiB; a script ends after its budget of steps; decided alone
	LogCopy:        store.MaxLogWork,                         // 1 KiB; a log is copied when it grows, or is changed during a snapshot
	PolicyCheck:    4 * store.MaxHolderWork,                  // 4 KiB; a policy has at most 64 limits; of concurrency limits, 4 are reckoned with
	PolicyChange:   5_000,                                    // 1 KiB; 64 limits; during a snapshot the first change copies all policies
	PolicyList:     MaxBatchWork,                             // 300 KiB; at most 1000 policies of 64 limits, or the ids of 100,000 overrides
	ShardPass:      5_000,                                    // 5 KiB; 1024 shards, and 100 keys at random or 1000 keys in all
	KeyStep:        MaxBatchWork,                             // 512 KiB; at most 10,000 keys, 256 KiB and 2^20 steps of matching in a step
	KeyPass:        MaxBatchWork,                             // 4 MiB; KEYS, and FLUSHDB of many keys, leave the event loop; FLUSHALL looks at every key
	ConnectionPass: MaxBatchWork,                             // 4 MiB; at most --max-clients; a long CLIENT LIST leaves the event loop
	UserList:       MaxBatchWork,                             // 4 MiB; users are made by operators
	Report:         5_000,                                    // 256 KiB; the server bounds its lists
	LongText:       20_000,                                   // 512 KiB; the number of commands, or of keys that are counted as denied
	Information:    100_000,                                  // 512 KiB; every counter, and figures of the system
}

// The work of data commands for each string of a value, beyond that of copying the value. BenchmarkLargestValues and
// BenchmarkScriptsOnLargestValues show whether they are right.
const (
	LookWork  = 2  // a string is compared with another
	WalkWork  = 6  // a string is looked at, in a loop over all
	IndexWork = 10 // it is put into an index of strings
	SortWork  = 20 // it is sorted among others
	WriteWork = 2  // it is written to the reply
	WordWork  = 6  // and, where no script has called the command, what writing it takes beyond that

	answerWork = 30 // it is looked up, removed and written
)

// CopyWork is the work of moving the bytes of a value.
func CopyWork(data []byte) int { return len(data) / 64 }

// WeighsData reports whether the work of the row is weighed by the keys it is about: see [Executor.Weigh].
func (r *Row) WeighsData() bool { return r.Cost >= ValuePass && r.Cost <= ScriptRun }

// WeighData is about the most work of a data command on keys that hold a number of bytes, in short strings.
func (r *Row) WeighData(args [][]byte, held int) int {
	times := 2
	switch {
	case r.Cost == ValueSort:
		times = 200
	case r.Cost == ValuePass && r.Flags&Fast != 0 && len(args) <= 6: // for a few fields or members, the value is copied for each
		times = len(args)
	case r.Cost == ValuePass:
		times = 40
	}
	work := store.OpWork + len(args)*SortWork + times*held/64
	if r.Answers != nil {
		work += min(r.Answers(args, held), MaxBatchWork) * answerWork
	}
	return min(work, MaxBatchWork)
}

// A write does no more work with many connections in a table that concerns it, such as trackers or subscribers, than with one: server/DESIGN.md
// has the steps of each table. Only a client that waits for keys has to be weighed by their number.

// waitWork is the work of a client for each key that it waits for: it enters the line, looks at the key, and leaves the line.
const waitWork = 60

// WaitWork is the work of a wait for a number of keys, beyond the work of its attempts.
func WaitWork(keys int) int { return waitWork * keys }

// ReplyBytes is about the most that a command replies with which weighs that much, beside what a short reply takes.
func (r *Row) ReplyBytes(work int) int {
	switch {
	case work < replyWork:
		return 0
	case r.Cost == ScriptRun:
		return 64 * work
	case r.Cost == ValueCopy || r.Cost == ValuePass && r.Flags&Fast != 0:
		return 64 * work / 2
	}
	return 64 * work / 40
}

// replyWork is the work below which replies are short: 64 KiB are copied, and copied back, for as much.
const replyWork = 2 * (64 << 10) / 64

// Work is the most that each operation of the row takes, or the whole command if it has none.
func (r *Row) Work() int { return r.work }

// WorkOf is the maximum work of the row's operations: for several limits in one request, the sum over them.
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

// AcquireCost is the cost of a request for a limit of an algorithm.
func AcquireCost(a limits.Algorithm) Cost {
	switch a {
	case limits.Concurrency, limits.Class:
		return HolderLookup
	case limits.SlidingLog, limits.FairShare:
		return LogCopy
	}
	return Light
}
