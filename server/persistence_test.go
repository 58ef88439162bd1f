package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server/command"
)

// idleKeeper is a Persistence whose snapshots the test completes.
type idleKeeper struct {
	status  persistencestatus.Status
	waiting []chan error
	skipped bool
}

func (k *idleKeeper) Save() <-chan error {
	done := make(chan error, 1)
	k.waiting = append(k.waiting, done)
	return done
}

func (k *idleKeeper) SaveAlone() error {
	if len(k.waiting) > 0 {
		return errors.New("busy")
	}
	k.Save()
	return nil
}

func (k *idleKeeper) SkipLastSnapshot()                { k.skipped = true }
func (k *idleKeeper) Status() persistencestatus.Status { return k.status }

func newKeepingPlayer(t *testing.T, mode string) (*sessionPlayer, *idleKeeper) {
	p, k := newSessionPlayer(t, 0), &idleKeeper{status: persistencestatus.Status{Mode: mode}}
	p.persistence, p.info.Persistence = k, k
	return p, k
}

// finish ends all snapshots, and returns once c has been woken for it.
func (k *idleKeeper) finish(t *testing.T, c *pipe, err error) {
	for _, done := range k.waiting {
		done <- err
	}
	k.waiting = nil
	eventually(t, "the session is woken", c.woken.Load)
	c.player.settle()
}

// SAVE answers when its snapshot is complete, later commands are answered after that, and CLIENT REPLY holds for it
// too.
func TestSaveAnswersLater(t *testing.T) {
	p, k := newKeepingPlayer(t, "interval")
	c := p.open("")
	c.deliver(frames("SAVE", "PING"))
	if got := c.taken(); got != "" || len(k.waiting) != 1 {
		t.Fatalf("answered %q at once", got)
	}
	k.finish(t, c, nil)
	if got := c.taken(); got != "+OK\r\n+PONG\r\n" {
		t.Errorf("answered %q", got)
	}
	c.deliver(frames("SAVE"))
	k.finish(t, c, errors.New("no space left on device"))
	if got := c.taken(); got != "-ERR the snapshot could not be written: no space left on device\r\n" {
		t.Errorf("answered %q", got)
	}
	for _, silent := range []string{"CLIENT REPLY SKIP", "CLIENT REPLY OFF"} {
		for _, err := range []error{nil, errors.New("input/output error")} {
			c.deliver(frames(silent, "SAVE"))
			k.finish(t, c, err)
			if got := c.taken(); got != "" {
				t.Errorf("%s, SAVE is answered %q", silent, got)
			}
		}
	}
}

// A second BGSAVE is refused as by Redis; SAVE waits for a new snapshot.
func TestBackgroundSaveInProgress(t *testing.T) {
	p, k := newKeepingPlayer(t, "interval")
	c := p.open("")
	c.deliver(frames("BGSAVE", "BGSAVE", "BGSAVE SCHEDULE"))
	busy := "-" + command.ErrSaveBusy.Error() + "\r\n"
	if got := c.taken(); got != "+Background saving started\r\n"+busy+busy {
		t.Errorf("answered %q", got)
	}
	c.deliver(frames("SAVE"))
	if len(k.waiting) != 2 {
		t.Errorf("%d wait", len(k.waiting))
	}
}

// What ends the server or answers later has no place in a transaction, which it breaks as in Redis.
func TestSaveInTransaction(t *testing.T) {
	for _, what := range []string{"SAVE", "SHUTDOWN", "SHUTDOWN NOSAVE"} {
		p, k := newKeepingPlayer(t, "interval")
		c := p.open("")
		c.deliver(frames("MULTI", what, "PING", "EXEC"))
		want := "+OK\r\n-ERR Command not allowed inside a transaction\r\n+QUEUED\r\n-" + command.ErrExecAbort.Error() + "\r\n"
		if got := c.taken(); got != want || len(k.waiting) > 0 || k.skipped {
			t.Errorf("%s: answered %q", what, got)
		}
	}
}

func TestShutdownWithoutSave(t *testing.T) {
	for what, skip := range map[string]bool{"SHUTDOWN": false, "SHUTDOWN SAVE": false, "SHUTDOWN NOW": false, "SHUTDOWN NOSAVE": true, "SHUTDOWN NOSAVE NOW FORCE": true} {
		p, k := newKeepingPlayer(t, "interval")
		if p.open("").deliver(frames(what)); k.skipped != skip {
			t.Errorf("%s: the last snapshot is skipped: %t", what, k.skipped)
		}
	}
}

// INFO has nothing to say of a journal where there is none.
func TestInfoOfModes(t *testing.T) {
	for mode, journaled := range map[string]bool{"interval": true, "always": true, "snapshot": false} {
		p, k := newKeepingPlayer(t, mode)
		k.status.Err = errors.New("no space left on device")
		c := p.open("")
		c.deliver(frames("INFO persistence"))
		got := c.taken()
		if strings.Contains(got, "aof_last_write_status:err") != journaled || strings.Contains(got, "aof_enabled:1") != journaled {
			t.Errorf("%s: %s", mode, got)
		}
	}
}
