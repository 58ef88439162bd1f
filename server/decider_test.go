package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/decider"
)

// spy records the batches of a session.
type spy struct {
	*decider.Local
	log []string
}

func (s *spy) Decide(b *engine.Batch) bool {
	var keys []string
	for _, op := range b.Ops {
		keys = append(keys, string(op.Key))
	}
	note := strings.Join(keys, "+")
	if b.Atomic {
		note = "atomic " + note
	}
	if b.Local {
		note = "local " + note
	}
	if len(b.Results) != len(b.Ops) || b.Done == nil {
		note += " BAD"
	}
	s.log = append(s.log, note)
	return s.Local.Decide(b)
}

// A pipeline is one batch, up to the first command that must see its results; EXEC is one atomic batch; READONLY allows
// local reads.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ name, commands, want string }{
		{"a pipeline", "TTL a|TTL b|EXISTS c d", "[a+b+c+d]"},
		{"a command without keys", "TTL a|PING|TTL b", "[a b]"},
		{"an error", "TTL a|TTL|TTL b", "[a+b]"},
		{"nothing to decide", "PING|GET x|TTL", "[]"},
		{"BLOCK", "TTL a|TB.ACQUIRE b 1 1/s BLOCK 1s|TTL c", "[a+b c]"},
		{"a transaction", "TTL a|MULTI|TTL b|PING|TTL c|EXEC|TTL d", "[a atomic b+c d]"},
		{"a transaction of commands without keys", "MULTI|PING|EXEC|TTL a", "[a]"},
		{"an empty transaction", "MULTI|EXEC|TTL a", "[a]"},
		{"a transaction that is dropped", "MULTI|TTL a|DISCARD|TTL b", "[b]"},
		{"READONLY", "READONLY|TTL a|READWRITE|TTL b", "[local a b]"},
	} {
		var s *spy
		p := &sessionPlayer{conns: map[string]*pipe{}}
		p.testHost = newHost(t, func(l *decider.Local) decider.Decider {
			s = &spy{Local: l}
			return s
		})
		p.open("").deliver(frames(strings.Split(c.commands, "|")...))
		if got := fmt.Sprint(s.log); got != c.want {
			t.Errorf("%s is decided as %s, want %s", c.name, got, c.want)
		}
	}
}

// A long pipeline is decided in batches of a bounded size, with the same replies.
func TestLongPipeline(t *testing.T) {
	var s *spy
	p := &sessionPlayer{conns: map[string]*pipe{}}
	p.testHost = newHost(t, func(l *decider.Local) decider.Decider {
		s = &spy{Local: l}
		return s
	})
	const count = 3*conn.MaxBatchOps + 10
	c := p.open("")
	c.deliver(bytes.Repeat(frames("TB.ACQUIRE k 3000 1/h"), count))
	if len(s.log) != 4 {
		t.Errorf("decided in %d batches, want 4", len(s.log))
	}
	out := c.reply(t)
	if granted := strings.Count(out, "*5\r\n:1\r\n"); granted != 3000 || strings.Count(out, "*5\r\n") != count {
		t.Errorf("%d of %d are granted, want 3000 of %d", granted, strings.Count(out, "*5\r\n"), count)
	}
}

// A pipeline of large commands goes to the decider in batches of bounded bytes. Commands without operations do not
// count.
func TestPipelineOfLargeCommands(t *testing.T) {
	var s *spy
	p := &sessionPlayer{conns: map[string]*pipe{}}
	p.testHost = newHost(t, func(l *decider.Local) decider.Decider {
		s = &spy{Local: l}
		return s
	})
	c := p.open("")
	large := "RL.ALL"
	for _, key := range []string{"a", "b", "c", "d"} {
		large += " TB " + strings.Repeat(key, 4000) + " 3000 1/h"
	}
	command := frames(large)
	perBatch := conn.MaxBatchBytes/len(command) + 1
	for _, words := range []string{"PING", large} {
		c.deliver(bytes.Repeat(frames(words), perBatch-1))
		c.reply(t)
	}
	s.log = nil
	c.deliver(bytes.Repeat(command, 2*perBatch))
	if len(s.log) != 2 {
		t.Errorf("decided in %d batches, want 2", len(s.log))
	}
}
