package server

import (
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/transcripttest"
)

// playFuzz has bytes arrive at a new server in the given pieces, and an hour pass, and returns all that was answered.
func playFuzz(t *testing.T, p *sessionPlayer, pieces [][]byte) []byte {
	defer p.store.Close()
	c := p.open("client")
	for _, piece := range pieces {
		c.deliver(piece)
		if kept := c.Usage().Input; kept > 2*(p.Config().QueryBufferBytes+len(piece)) {
			t.Fatalf("%d bytes of input are kept", kept)
		}
		if n := c.Usage().Queued; n > conn.MaxQueuedCommands {
			t.Fatalf("%d commands are queued", n)
		}
	}
	p.Advance(time.Hour)
	if !c.closed {
		c.hangUp()
	}
	p.settle()
	if p.env.WaitQueue.Len() > 0 || p.env.Registry.Count() > 0 {
		t.Fatalf("%d waiters and %d clients are left", p.env.WaitQueue.Len(), p.env.Registry.Count())
	}
	return c.sent.Bytes()
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

// unpredictable are commands whose replies differ from one server to the next, or, because they change settings that
// hold from the next read on, with the way the bytes arrive.
var unpredictable = regexp.MustCompile(`(?i)info|randomkey|scan|keys|memory|config`)

// No bytes make a session panic, answer without bound or leave anything behind, and its replies depend neither on
// how they arrive nor on when the decider finishes.
func FuzzSession(f *testing.F) {
	for _, c := range conversations {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in), uint64(1))
		}
	}
	scripts, err := transcripttest.Commands(transcripts)
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
		whole := playFuzz(t, newSessionPlayer(t, 0), [][]byte{in})
		if limit := config.Default().OutputBufferBytes + len(in)*longestReply(); len(whole) > limit {
			t.Fatalf("%d bytes are answered with %d", len(in), len(whole))
		}
		random := rand.New(rand.NewPCG(seed, 0))
		cut := playFuzz(t, newSessionPlayer(t, 0), pieces(in, random))
		late := playFuzz(t, newLaterPlayer(t, 0), pieces(in, random))
		if unpredictable.Match(in) {
			return
		}
		for way, got := range map[string][]byte{"in pieces": cut, "decided later": late} {
			if at := difference(got, whole); at >= 0 {
				t.Errorf("%q\nis answered differently %s from byte %d on: …%.200q\nat once: …%.200q", in, way, at, got[at:], whole[at:])
			}
		}
	})
}

// difference is where a and b begin to differ, -1 if they do not.
func difference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
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
