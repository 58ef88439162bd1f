package conn

import (
	"context"
	"errors"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/conn/wait"
)

// Caller is a client whose commands come by another protocol than RESP.
type Caller struct {
	User    *acl.User
	Address string        // HOST:PORT, as SLOWLOG, ACL LOG and MONITOR show it
	Timeout time.Duration // of a reply that is not there at once, 0 for none
	Expect  *engine.Op    // what a transaction of the caller expects, as after WATCH; nil for nothing
}

var (
	// ErrNoReply is the error of commands that have no reply.
	ErrNoReply = errors.New("the command has no reply")
	// ErrRepliesTooBig is the error of commands whose replies are longer than --output-buffer-size. They were carried
	// out.
	ErrRepliesTooBig = errors.New("the commands were executed, but their replies are larger than --output-buffer-size")
)

// Do executes commands, in RESP, as a connection of the caller would, but on a separate session: nothing of the
// session's state is left afterwards. It returns all replies, in RESP2. If ctx or the caller's timeout ends first, a
// blocked reply is given up, and its tokens are refunded. A node of a cluster never redirects the caller: it forwards.
func (e *Env) Do(ctx context.Context, caller Caller, in []byte) (replies []byte, err error) {
	c, waited := e.getCaller(caller), true // until the end is seen, also one by a panic
	s := &c.session
	defer func() {
		s.onDisconnect()
		e.putCaller(c, waited)
	}()
	var late <-chan time.Time
	for turn := 1; ; turn++ {
		batch, cfg := e.getBatch(), e.config()
		more := s.receive(in, batch, cfg)
		in = nil
		e.count(batch)
		replies = append(replies, batch.out.Buf...)
		batch.out.Buf = batch.out.Buf[:0]
		e.putUnlessDeciding(s, batch)
		switch {
		case len(replies) > cfg.OutputBufferBytes:
			return nil, ErrRepliesTooBig
		case s.public.Wait.Has(wait.ForTurn): // this goroutine is nobody's but the caller's
			if s.subscriptions.outruns() {
				time.Sleep(publisherPause)
			}
			s.public.Wait.Happen(wait.ForTurn)
			continue
		case more:
			continue
		case s.ready() || s.public.Wait.Has(wait.ForClose):
			if len(replies) == 0 {
				err = ErrNoReply
			}
			waited = turn > 1 || !s.ready() || err != nil
			return replies, err
		}
		if late == nil && caller.Timeout > 0 {
			timer := time.NewTimer(caller.Timeout)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-c.woken:
		case <-late:
			return nil, context.DeadlineExceeded
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
