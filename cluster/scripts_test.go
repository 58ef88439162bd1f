package cluster

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/command/data"
)

// operation returns the operation that the server makes of a client's command.
func operation(words ...string) engine.Op {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	row, err := command.Find(args)
	if err != nil {
		panic(err)
	}
	r := command.Request{Args: args}
	r.SetBounds(command.Bounds{MaxKeyBytes: engine.MaxKeyBytes})
	if err := row.Parse(&r); err != nil {
		panic(err)
	}
	return r.Ops[0].Clone()
}

// laterDialect carries out scripts of a dialect 3 like scripts of the newest dialect.
type laterDialect struct{ data.Executor }

func (l *laterDialect) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	if op.Verb == engine.Script && op.Tokens == laterNumber {
		known := *op
		known.Tokens, op = scriptcache.Dialect, &known
	}
	l.Executor.Run(tx, op, res)
}

const laterNumber = scriptcache.Dialect + 1

var laterVersion = fsm.NewFormats(fsm.Additions).Newest + 1

var dialectIsNew = append([]fsm.Addition{{Version: laterVersion, Name: "dialect 3 of scripts",
	IsUsed: func(op *engine.Op) bool {
		return op.Verb == engine.Script && op.Tokens == laterNumber
	}}}, fsm.Additions...)

// A script of a newer dialect is refused until all members know the dialect. Scripts of the older one run all the time.
func TestNewerDialectWaitsForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.commands["a"], s.commands["b"] = &laterDialect{}, &laterDialect{}
		s.known["a"], s.known["b"] = dialectIsNew, dialectIsNew
		s.mixed()
		defer s.stop()
		newer := operation("EVAL", "return redis.call('INCR', KEYS[1])", "1", "k")
		older := newer.Clone()
		newer.Tokens = laterNumber
		counted := 0
		for round, want := range []engine.Status{engine.TooNew, engine.OK} {
			for _, name := range s.names {
				if round == 1 || name != "c" { // no client of c can ask for it
					if got := do(s.nodes[name], newer)[0]; got.Status != want {
						t.Errorf("round %d, %s: the newer dialect is answered with status %d: %s", round, name, got.Status, got.Reply)
					}
					counted += round
				}
				counted++
				if got := do(s.nodes[name], older)[0]; string(got.Reply) != fmt.Sprintf(":%d\r\n", counted) {
					t.Errorf("round %d, %s: status %d, %q in place of %d", round, name, got.Status, got.Reply, counted)
				}
			}
			if round == 0 {
				if err := s.nodes["a"].Group().TooNew([]engine.Op{newer}); !strings.Contains(err.Error(),
					fmt.Sprintf("dialect 3 of scripts needs format version %d, and the member 'c' knows version %d", laterVersion,
						laterVersion-1)) {
					t.Error(err)
				}
				s.kill("c")
				s.known["c"], s.commands["c"] = dialectIsNew, &laterDialect{}
				s.start("c")
				s.eventually("the version is raised", func(n *Node) bool {
					return n.Group().Status().FormatVersion == uint32(laterVersion)
				})
			}
		}
		s.mustNotFail()
	})
}

// While a member does not know scripts none is run, and none is in a snapshot.
func TestScriptsWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.known["c"] = []fsm.Addition{}
		leader := s.mixed()
		defer s.stop()
		ops := []engine.Op{
			operation("EVAL", "return redis.call('SET', KEYS[1], 1)", "1", "k"), operation("SCRIPT", "LOAD", "return 1"),
			operation("SCRIPT", "FLUSH"),
			{Verb: engine.KeepScript, Who: []byte("return 1")}, {Verb: engine.DropScripts},
		}
		ask := func(want engine.Status) {
			t.Helper()
			for i, op := range ops {
				for name, n := range s.nodes {
					if got := do(n, op)[0]; got.Status != want {
						t.Errorf("operation %d at %s: status %d", i, name, got.Status)
					}
				}
			}
		}
		ask(engine.TooNew)
		snapshot := leader.opt.Store.Snapshot()
		snapshot.PolicyOps(func(op *engine.Op) { t.Errorf("the snapshot has an operation with the verb %d", op.Verb) })
		if snapshot.Release(); leader.opt.Store.Len() > 0 {
			t.Error("a script has written")
		}
		s.upgrade("c")
		ask(engine.OK)
		s.mustNotFail()
	})
}
