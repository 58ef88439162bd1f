package decide

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/transcripttest"
)

var update = flag.Bool("update", false, "write the answers into the transcripts instead of comparing them")

// The transcripts say who decides an operation: a node's purse, allowance, state or log, or the leader; what waits for
// what; and what becomes of it when the lease or the leader is lost meanwhile.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d transcripts (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				p := newPlayer(t)
				got, err := transcripttest.Replay(string(text), p)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				switch {
				case err != nil:
					t.Fatal(err)
				case *update:
					if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				case got != string(text):
					t.Errorf("it is\n%s", got)
				}
			})
		})
	}
}

// fakeLog is the group's log: entries that are proposed wait until the transcript commits them.
type fakeLog struct {
	mu       sync.Mutex
	proposed []*fakeEntry
	last     uint64 // index of an entry that was applied
}

// fakeEntry is an entry that is proposed, and the answer of Raft.
type fakeEntry struct {
	raft.ApplyFuture
	bytes   []byte
	outcome chan error
}

func (e *fakeEntry) Error() error  { return <-e.outcome }
func (e *fakeEntry) Response() any { return nil }

// propose takes an entry of the leader. Another node's is certainly not taken.
func (l *fakeLog) propose(b []byte, leads bool) raft.ApplyFuture {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &fakeEntry{bytes: b, outcome: make(chan error, 1)}
	if !leads {
		e.outcome <- raft.ErrNotLeader
		return e
	}
	l.proposed = append(l.proposed, e)
	return e
}

func (l *fakeLog) take() []*fakeEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.proposed
	l.proposed = nil
	return taken
}

// commit commits the entries that are proposed, and reports whether there were any.
func (l *fakeLog) commit(nodes map[string]*node) bool {
	entries := l.take()
	for _, e := range entries {
		l.apply(nodes, e.bytes)
		e.outcome <- nil
	}
	return len(entries) > 0
}

// apply applies an entry on all nodes.
func (l *fakeLog) apply(nodes map[string]*node, entry []byte) {
	l.last++
	for _, n := range nodes {
		n.Machine.Apply(&raft.Log{Index: l.last, Data: append([]byte(nil), entry...)})
	}
}

// fail has the entries that are proposed end with an error.
func (l *fakeLog) fail(err error) {
	for _, e := range l.take() {
		e.outcome <- err
	}
}

// read adds the operation of some words to a batch: its kind, its keys and its tokens. The words atomic and local are
// about the batch.
func (b *batch) read(words [][]byte) error {
	switch kind := string(words[0]); {
	case kind == "atomic":
		b.Atomic = true
		return b.read(words[1:])
	case kind == "local":
		b.Local = true
		return b.read(words[1:])
	case kind == "look":
		b.Ops = append(b.Ops, engine.Op{Verb: engine.Look, Key: words[1]})
		return nil
	case kind == "flush":
		b.Ops = append(b.Ops, engine.Op{Verb: engine.Flush})
		return nil
	case len(words) < 3:
		return fmt.Errorf("an operation of %d words", len(words))
	}
	last := len(words) - 1
	tokens, err := strconv.ParseInt(string(words[last]), 10, 64)
	if err != nil {
		return err
	}
	parts := make([]engine.Op, 0, last)
	for _, key := range words[1:last] {
		parts = append(parts, engine.Op{Verb: engine.Acquire, Key: key, Tokens: tokens, Limit: limitOf(key)})
	}
	op := parts[0]
	switch string(words[0]) {
	case "acquire":
	case "peek":
		op.Options = engine.Peek
	case "spread":
		op.Options = engine.Spread
	case "refund":
		op = engine.Op{Verb: engine.Refund, Key: op.Key, Tokens: tokens}
	case "all":
		for i := range parts {
			parts[i].Verb = 0
		}
		op = engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: parts}
	default:
		return fmt.Errorf("an unknown operation")
	}
	b.Ops = append(b.Ops, op)
	return nil
}

// limitOf is the limit of a key: 1,000 tokens a second, of which the leader's allowance is 250; for keys that begin
// with "slow" 1,000 tokens an hour, without an allowance, and with "few" 3 an hour.
func limitOf(key []byte) limits.Limit {
	l := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1000}
	l.Rate = limits.Rate{Tokens: 1000, Period: int64(time.Second)}
	switch {
	case strings.HasPrefix(string(key), "slow"):
		l.Rate.Period = int64(time.Hour)
	case strings.HasPrefix(string(key), "few"):
		l.Capacity, l.Rate = 3, limits.Rate{Tokens: 3, Period: int64(time.Hour)}
	}
	return l
}

var statusNames = map[engine.Status]string{
	engine.NotFound: "none", engine.NoLeader: "no leader", engine.Uncertain: "uncertain",
	engine.TooNew: "too new", engine.Importing: "importing", engine.Overloaded: "overloaded",
}

// answers are the answers of a batch.
func (b *batch) answers() string {
	var all []string
	for i := range b.Ops {
		switch res := &b.Results[i]; {
		case res.Status != engine.OK:
			all = append(all, statusNames[res.Status])
		case b.Ops[i].Verb == engine.Flush:
			all = append(all, "done")
		case b.Ops[i].Verb == engine.Look:
			all = append(all, fmt.Sprint(res.Remaining, " left"))
		case b.Ops[i].Verb == engine.Refund:
			all = append(all, fmt.Sprint(res.Granted, " given back"))
		case res.Allowed:
			all = append(all, fmt.Sprint(res.Granted, " granted"))
		case b.Ops[i].Options&engine.Spread != 0:
			all = append(all, fmt.Sprintf("denied for %d min", time.Duration(res.Wait).Round(time.Minute)/time.Minute))
		default:
			all = append(all, "denied")
		}
	}
	return strings.Join(all, ", ")
}

// noTurns are the turns where nobody waits.
type noTurns struct{}

func (noTurns) IsAttempt(*engine.Op) bool      { return false }
func (noTurns) Attempt(int64, *engine.Op)      {}
func (noTurns) MayTake(int64, *engine.Op) bool { return true }
