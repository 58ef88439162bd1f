package command

import "github.com/stintdb/stint/engine"

// Cost is the class of a command's cost in the worst case, with the largest state that a user can make. Every row of the table
// declares one.
type Cost uint8

// The classes.
const (
	undeclared     Cost = iota
	Light               // a limit, a key or a few words
	HolderLookup        // looks through the holders of a concurrency limit
	HolderList          // lists them
	LogCopy             // may copy a sliding log
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

// CostBound is the most that a command of a class takes: of work for each of its operations or limits, or at once if it
// has none, and of bytes of its reply.
type CostBound struct {
	Work    int // in units of [engine.Result.Work], 3 to 15 ns
	Bytes   int
	Because string // in the documentation
}

// MaxBatchWork is the work after which a batch is decided, and about the work of a connection's turn, 10 ms at most. A command that costs as much is decided alone.
const MaxBatchWork = 64 * engine.MaxHolders

// MaxExecWork is the most that the commands of one transaction may take together.
const MaxExecWork = 4 * MaxBatchWork

const kb = 1 << 10

// Bounds of the classes.
var costs = [...]CostBound{
	Light:          {engine.OpWork, 2 * kb, "nothing grows"},
	HolderLookup:   {engine.MaxHolderWork, kb, "a concurrency limit has at most 10,000 holders"},
	HolderList:     {MaxBatchWork, engine.MaxListedBytes, "10,000 holders of at most 255 bytes; decided alone"},
	LogCopy:        {engine.MaxLogWork, kb, "a log of 100,000 entries has 1.6 MB, and is copied when it grows or a snapshot is being taken"},
	PolicyCheck:    {4 * engine.MaxHolderWork, 4 * kb, "a policy has at most 64 limits; of concurrency limits, 4 are reckoned with"},
	PolicyChange:   {5_000, kb, "64 limits; during a snapshot the first change copies what there is"},
	PolicyList:     {MaxBatchWork, 300 * kb, "at most 1000 policies of 64 limits; overrides are not looked at"},
	ShardPass:      {5_000, 5 * kb, "1024 shards, and 100 keys at random or 1000 keys in all"},
	KeyStep:        {MaxBatchWork, 512 * kb, "at most 10,000 keys, 256 KiB and 2^20 steps of matching in a step"},
	KeyPass:        {MaxBatchWork, 4096 * kb, "KEYS leaves the event loop; FLUSHALL looks at every key"},
	ConnectionPass: {MaxBatchWork, 4096 * kb, "at most --max-clients connections; a long CLIENT LIST leaves the event loop"},
	UserList:       {MaxBatchWork, 4096 * kb, "users are made by operators"},
	Report:         {5_000, 256 * kb, "the server's own bounds on its lists"},
	LongText:       {20_000, 512 * kb, "the number of commands, or of keys that are counted as denied"},
	Information:    {100_000, 512 * kb, "every counter, and figures of the system"},
}

// Bound is the bound of a class.
func (c Cost) Bound() CostBound { return costs[c] }

// Work is the most that each operation of the row takes, or the whole command if it has none.
func (r *Row) Work() int { return r.work }

// WorkOf is the maximum work of the row's operations: for several limits in one request, the sum over them.
func (r *Row) WorkOf(ops []engine.Op) (work int) {
	if len(ops) != 1 || ops[0].Verb != engine.AcquireAll {
		return r.work * len(ops)
	}
	for i := range ops[0].Parts {
		work += costs[acquireCost(ops[0].Parts[i].Limit.Algorithm)].Work
	}
	return work
}

func (r *Row) mustHaveCost() {
	if r.Cost == undeclared && !r.IsContainer() {
		panic("command: " + r.FullName + " declares no Cost")
	}
	r.work = costs[r.Cost].Work
}
