package server

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/transcript"
)

// fuzzBench is one server on which the same bytes are played several times, each time as if it were new.
type fuzzBench struct {
	*sessionPlayer
	cfg config.Config
}

func newFuzzBench(t testing.TB) *fuzzBench {
	p := &sessionPlayer{conns: map[string]*pipe{}}
	p.testHost = newHost(t, func(l *Local) Decider {
		p.later = &laterLocal{Local: l}
		return p.later
	})
	return &fuzzBench{sessionPlayer: p, cfg: *p.Config()}
}

// play has bytes arrive in the given pieces, and an hour pass, and returns everything that was answered.
func (b *fuzzBench) play(t *testing.T, later bool, pieces [][]byte) []byte {
	b.Server.decider = b.later.Local
	if later {
		b.Server.decider = b.later
	}
	b.store.Apply(0, []engine.Op{{Verb: engine.Flush}}, make([]engine.Result, 1))
	for _, name := range b.store.PolicyNames() {
		b.store.Apply(0, []engine.Op{{Verb: engine.DropPolicy, Key: []byte(name)}}, make([]engine.Result, 1))
	}
	b.clock.manual.now = testStart.UnixNano()
	cfg := b.cfg
	b.settings.Store(&cfg)
	b.clients.last = 0
	c := b.open("client")
	for _, piece := range pieces {
		c.deliver(piece)
		if kept := cap(c.rest); kept > 2*(b.Config().QueryBufferBytes+len(piece)) {
			t.Fatalf("%d bytes of input are kept", kept)
		}
		if limit := len(c.multi.queued); limit > maxQueuedCommands {
			t.Fatalf("%d commands are queued", limit)
		}
	}
	b.Advance(time.Hour)
	if !c.closed {
		c.hangUp()
	}
	b.settle()
	if b.waits.Len() > 0 || b.clients.count() > 0 {
		t.Fatalf("%d waiters and %d clients are left", b.waits.Len(), b.clients.count())
	}
	return bytes.Clone(c.sent.Bytes())
}

// pieces cuts bytes at random.
func pieces(in []byte, random *rand.Rand) (cut [][]byte) {
	most := 1 + random.IntN(40)
	for len(in) > 0 {
		n := min(len(in), 1+random.IntN(most))
		cut, in = append(cut, in[:n]), in[n:]
	}
	return cut
}

// unpredictable are commands whose replies differ from one time to the next, or, as they change settings that hold
// from the next read on, with the way the bytes arrive.
var unpredictable = regexp.MustCompile(`(?i)info|randomkey|config`)

// No bytes make a session panic, answer without bound or leave anything behind, and what it answers depends neither on
// how they arrive nor on when the decider finishes.
func FuzzSession(f *testing.F) {
	for _, c := range conversations {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in), uint64(1))
		}
	}
	scripts, err := transcript.Commands(transcripts)
	if err != nil {
		f.Fatal(err)
	}
	for _, script := range scripts {
		var all []byte
		for _, command := range script {
			all = append(all, frame(words(command)...)...)
		}
		f.Add(all, uint64(len(all)))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		if len(in) > 32<<10 {
			return
		}
		b := newFuzzBench(t)
		defer b.store.Close()
		whole := b.play(t, false, [][]byte{in})
		if limit := b.cfg.OutputBufferBytes + len(in)*longestReply(); len(whole) > limit {
			t.Fatalf("%d bytes are answered with %d", len(in), len(whole))
		}
		random := rand.New(rand.NewPCG(seed, 0))
		cut := b.play(t, false, pieces(in, random))
		late := b.play(t, true, pieces(in, random))
		if unpredictable.Match(in) {
			return
		}
		if !bytes.Equal(cut, whole) {
			t.Errorf("%q\nin pieces %q\n at once   %q", in, cut, whole)
		}
		if !bytes.Equal(late, whole) {
			t.Errorf("%q\ndecided later %q\n at once       %q", in, late, whole)
		}
	})
}

// longestReply is the longest a single command can be answered with, for each byte of the command: COMMAND DOCS in
// the inline form.
func longestReply() int {
	docs := 0
	for i := range command.Table {
		docs += 2000 + 1000*len(command.Table[i].Sub)
	}
	return docs / len("COMMAND DOCS\n")
}
