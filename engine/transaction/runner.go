package transaction

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/scriptcache"
)

// Commands carries out [engine.Command] and [engine.Script] operations. This package knows the keys, and nothing of
// what commands do.
type Commands interface {
	// Run carries out op on the keys of tx and appends its reply, in RESP2, to res.Reply. The same op on the same keys at
	// the same time has the same effect everywhere: it depends on nothing else. If tx needs more locks ([Tx.Stopped]), it
	// returns early and is called again.
	Run(tx *Tx, op *engine.Op, res *engine.Result)
	// Weigh returns about the work that op would take now, at most, in units of [engine.Result.Work].
	Weigh(op *engine.Op, held Held) (work int)
	// IsWorthAttempt reports whether to run op before it is proposed to a cluster, because it may change nothing.
	IsWorthAttempt(op *engine.Op) bool
	// ReadsAll reports whether op, which changes nothing, looks at most of that, and takes much longer than copying it.
	ReadsAll(op *engine.Op, held int) bool
}

// Held is what the declared keys of an operation hold: about as many bytes, and the most bytes of an element.
type Held struct{ Bytes, Longest int }

// Runner carries out commands on the keys of a keyspace. Any goroutine may call its methods. Create one with [New].
type Runner struct {
	OwnTimes OwnTimes

	keys    *keyspace.Keyspace
	scripts *scriptcache.Cache
	config  Config
	large   atomic.Bool // large values are kept in blocks
}

// KeepLarge says whether large values are put into blocks. All replicas begin with the same operation.
func (r *Runner) KeepLarge(on bool) { r.large.Store(on) }

// KeepsLarge reports what KeepLarge has said.
func (r *Runner) KeepsLarge() bool { return r.large.Load() }

// Config is what a Runner does for transactions beside keeping them. Commands may be nil, if there are none, and so may
// each function.
type Config struct {
	Commands Commands
	Publish  func(channel, text []byte) (receivers int) // hands over a message of [Tx.Publish], while the keys are locked
	Warned   func(w *engine.Warning)                    // is told that a limiter warned
	Note     func(op *engine.Op)                        // is told of each change of the scripts
}

// New returns a Runner.
func New(keys *keyspace.Keyspace, scripts *scriptcache.Cache, o Config) *Runner {
	r := &Runner{keys: keys, scripts: scripts, config: o}
	r.Clear()
	return r
}

// Clear forgets what the Runner remembers of earlier transactions, as if it were new. It must not be called while one is
// under way.
func (r *Runner) Clear() { r.OwnTimes.clear(!r.keys.IsReplicated()) }

// Weigh is the weight of an operation by [Commands].Weigh, 0 without commands.
func (r *Runner) Weigh(op *engine.Op, held Held) (work int) {
	if r.config.Commands == nil {
		return 0
	}
	return r.config.Commands.Weigh(op, held)
}
