package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/decider"
)

// slowDisk is a Durable for which the test chooses the outcome of each commit.
type slowDisk struct {
	waiting []func(error)
	err     error
}

func (d *slowDisk) Commit(done func(error)) { d.waiting = append(d.waiting, done) }
func (d *slowDisk) Err() error              { return d.err }

// finish ends all commits.
func (d *slowDisk) finish(p *sessionPlayer, err error) {
	for _, done := range d.waiting {
		done(err)
	}
	d.waiting = nil
	p.settle()
}

func newDurablePlayer(t *testing.T) (*sessionPlayer, *slowDisk) {
	d := &slowDisk{}
	p := &sessionPlayer{conns: map[string]*pipe{}}
	p.testHost = newHost(t, func(l *decider.Local) decider.Decider {
		l.Durable = d
		return l
	})
	return p, d
}

const (
	takeOne = "TB.ACQUIRE k 5 1/h"
	peek    = "TB.ACQUIRE k 5 1/h PEEK"
)

// sent is everything a client has been sent since it was asked last.
func (c *pipe) taken() string {
	out := c.sent.String()
	c.sent.Reset()
	return out
}

// A grant is not answered before it is durable, and neither are the commands behind it; denials and looks do not wait.
func TestRepliesWaitForTheDisk(t *testing.T) {
	p, d := newDurablePlayer(t)
	c, other := p.open("a"), p.open("b")
	c.deliver(frames(takeOne, "PING"))
	if got := c.taken(); got != "" || len(d.waiting) != 1 {
		t.Fatalf("answered %q before anything was durable", got)
	}
	other.deliver(frames(peek, "TB.ACQUIRE k 5 1/h 5", "DEL none"))
	if got := other.taken(); strings.Count(got, "\r\n*")+1 != 2 || len(d.waiting) != 1 {
		t.Errorf("a look, a denial and nothing to delete are answered %q; %d wait", got, len(d.waiting))
	}
	d.finish(p, nil)
	if got := c.taken(); !strings.HasPrefix(got, "*5\r\n:1\r\n") || !strings.HasSuffix(got, "+PONG\r\n") {
		t.Errorf("answered %q", got)
	}
}

// The same for data: changes wait, looks and refused commands do not.
func TestRepliesOnDataWaitForTheDisk(t *testing.T) {
	p, d := newDurablePlayer(t)
	c := p.open("")
	for _, step := range []struct{ command, reply string }{
		{"SET k 1", "+OK"},
		{"INCR k", ":2"},
		{"EXPIRE k 100", ":1"},
		{"RENAME k k2", "+OK"},
		{"DEL k2", ":1"},
		{"SETNX k 1", ":1"},
	} {
		c.deliver(frames(step.command, "PING"))
		if got := c.taken(); got != "" || len(d.waiting) != 1 {
			t.Errorf("%s: answered %q before anything was durable; %d wait", step.command, got, len(d.waiting))
		}
		d.finish(p, nil)
		if got, want := c.taken(), step.reply+"\r\n+PONG\r\n"; got != want {
			t.Errorf("%s is answered %q, want %q", step.command, got, want)
		}
	}
	for _, command := range []string{"GET k", "SET k 5 NX GET", "SET none 5 XX", "EXPIRE none 10", "DEL none", "RENAME none k", "SET k v NX XX", "INCRBY k x", "PERSIST k", "TTL k"} {
		c.deliver(frames(command))
		if got := c.taken(); got == "" || len(d.waiting) != 0 {
			t.Errorf("%s is answered %q; %d wait", command, got, len(d.waiting))
		}
	}
}

// What could not be made durable is answered with an error, not with a grant, and stays taken.
func TestWhatIsNotKeptIsNotGranted(t *testing.T) {
	for _, commands := range []string{
		takeOne, "CL.THROTTLE k 4 1 3600", "CC.ACQUIRE k 5 1h x", "MULTI|" + takeOne + "|EXEC", "FLUSHALL", "FLUSHDB",
		"RL.POLICY SET p TB k 5 1/h", "RL.CHECK old x", "RL.ALL TB k 5 1/h", "DEL there", "UNLINK none there", "RL.REFUND there 1", "RL.ATMOST there TB 5 1/h 1",
		"CC.RELEASE held x", "RL.POLICY DEL old", "RL.POLICY OVERRIDE old x TB k 5 1/h",
		"SET k v", "SET s v XX GET", "INCR n", "INCRBYFLOAT n 1", "EXPIRE s 10", "EXPIRE s -1", "PERSIST x", "DEL s", "RENAME s t", "RENAME x s", "SETNX k v", "MULTI|SET k v|EXEC", "MULTI|INCR n|GET s|EXEC",
	} {
		p, d := newDurablePlayer(t)
		c := p.open("")
		for _, before := range []string{"TB.ACQUIRE there 5 1/h 2", "CC.ACQUIRE held 5 1h x", "RL.POLICY SET old TB o:{} 5 1/h", "SET s old", "SET x old EX 100"} {
			c.deliver(frames(before))
			d.finish(p, nil)
		}
		c.taken()
		c.deliver(frames(strings.Split(commands, "|")...))
		if got := c.taken(); strings.Contains(got, "-") {
			t.Fatalf("%s: %s", commands, got)
		}
		d.finish(p, errors.New("no space left on device"))
		if got := c.taken(); strings.Count(got, "-"+command.ErrNotKept.Error()) != 1 || strings.Contains(got, ":1\r\n") {
			t.Errorf("%s is answered %q", commands, got)
		}
	}
	p, d := newDurablePlayer(t)
	c := p.open("")
	c.deliver(frames(takeOne))
	d.finish(p, errors.New("no space left on device"))
	c.taken()
	c.deliver(frames(peek))
	if got, want := c.taken(), "*5\r\n:1\r\n:5\r\n:3\r\n"; !strings.HasPrefix(got, want) {
		t.Errorf("afterwards a look is answered %q, want %q…: the first token stays taken", got, want)
	}
}

// In a pipeline only commands that changed state are refused.
func TestPipelineThatIsNotKept(t *testing.T) {
	p, d := newDurablePlayer(t)
	c := p.open("")
	c.deliver(frames(takeOne, peek, "TB.ACQUIRE k 5 1/h 6", "TTL none"))
	d.finish(p, errors.New("input/output error"))
	got := c.taken()
	if !strings.HasPrefix(got, "-"+command.ErrNotKept.Error()+"\r\n*5\r\n:1\r\n") || strings.Count(got, "MISCONF") != 1 ||
		!strings.HasSuffix(got, ":-2\r\n") {
		t.Errorf("answered %q", got)
	}
}

// While the disk is known to fail, commands that change nothing are answered normally.
func TestDiskFailsAndNothingChanges(t *testing.T) {
	p, d := newDurablePlayer(t)
	c := p.open("")
	c.deliver(frames("TB.ACQUIRE k 5 1/h 5", "CC.ACQUIRE held 1 1h x"))
	d.finish(p, nil)
	c.taken()
	d.err = errors.New("read-only file system")
	c.deliver(frames(takeOne, "CC.ACQUIRE held 1 1h y", "CC.RELEASE held y", "CC.RELEASE none y", "DEL none", "RL.ALL TB k 5 1/h TB other 5 1/h"))
	got := c.taken()
	if strings.Contains(got, "MISCONF") || strings.Count(got, "*5\r\n:0\r\n") < 2 || strings.Count(got, "\r\n:0\r\n:0\r\n:0\r\n") != 1 {
		t.Errorf("answered %q", got)
	}
	if len(d.waiting) != 0 {
		t.Errorf("%d wait", len(d.waiting))
	}
}

// While the disk is known to fail nothing is decided that could not be kept; looking goes on.
func TestDiskThatIsKnownToFail(t *testing.T) {
	p, d := newDurablePlayer(t)
	d.err = errors.New("read-only file system")
	c := p.open("")
	c.deliver(frames(takeOne, peek, "FLUSHALL", "MULTI", "TTL k", "EXEC"))
	got := c.taken()
	if len(d.waiting) != 0 || strings.Count(got, "-"+command.ErrNotKept.Error()) != 2 || p.store.Len() != 0 {
		t.Errorf("answered %q; %d wait, %d keys", got, len(d.waiting), p.store.Len())
	}
	if !strings.Contains(got, "*5\r\n:1\r\n:5\r\n:4\r\n") || !strings.HasSuffix(got, ":-2\r\n") {
		t.Errorf("looking is answered %q", got)
	}
	d.err = nil
	c.deliver(frames(takeOne))
	d.finish(p, nil)
	if got := c.taken(); !strings.HasPrefix(got, "*5\r\n:1\r\n:5\r\n:4\r\n") {
		t.Errorf("once it works again, the first token is answered %q", got)
	}
}
