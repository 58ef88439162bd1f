package conn

import (
	"context"
	"errors"

	"github.com/stintdb/stint/server/acl"
)

// Do executes one command, in RESP, as a connection of the user would, but for one that nobody opened. It returns the
// reply in RESP2.
func (e *Env) Do(ctx context.Context, user *acl.User, in []byte) (reply []byte, err error) {
	woken := make(chan struct{}, 1)
	s := e.NewSession("admin", "admin", func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	s.user = user
	for {
		batch := e.getBatch()
		s.receive(in, batch, e.config())
		reply = append(reply, batch.out.Buf...)
		e.putUnlessDeciding(s, batch)
		if len(reply) > 0 {
			return reply, nil
		}
		if s.ready() {
			return nil, errors.New("the command has no reply")
		}
		in = nil
		select {
		case <-woken:
		case <-ctx.Done():
			s.onDisconnect()
			return nil, ctx.Err()
		}
	}
}
