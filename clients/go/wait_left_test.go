package stint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// slowly is a sender that answers reservations once it is released, and refunds at once.
type slowly struct {
	release chan struct{}
	reply   []any

	mu   sync.Mutex
	sent []string
}

func (s *slowly) send(_ context.Context, commands []redis.Cmder) {
	for _, command := range commands {
		s.mu.Lock()
		s.sent = append(s.sent, fmt.Sprint(command.Args()...))
		s.mu.Unlock()
		if command.Name() == "rl.refund" {
			command.(once).SetVal(int64(1))
			continue
		}
		<-s.release
		command.(once).SetVal(s.reply)
	}
}

// TestPlaceIsGivenBackAfterTheCallerLeft: a reply that grants what nobody will use.
func TestPlaceIsGivenBackAfterTheCallerLeft(t *testing.T) {
	granted := []any{int64(3), int64(9), int64(0), int64(1000), int64(2000)} // in a second
	denied := []any{int64(0), int64(9), int64(0), int64(1000), int64(2000)}
	limits := map[string]Limit{"bucket": PerSecond(9), "queue": PerSecond(9).Queue(9), "adaptive": PerSecond(9).Adaptive(1)}
	for name, limit := range limits {
		for _, c := range []struct {
			name     string
			leave    func(cancel func()) // nil: the timeout is over
			policy   Policy
			reply    []any
			err      error
			refunded bool
		}{
			{"the context ends", func(cancel func()) { cancel() }, FailOpen(), granted, context.Canceled, true},
			{"the fallback denies", nil, FailClosed(), granted, nil, true},
			{"the policy allows", nil, FailOpen(), granted, nil, false},
			{"and it was denied", func(cancel func()) { cancel() }, FailOpen(), denied, context.Canceled, false},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &slowly{release: make(chan struct{}), reply: c.reply}
					l := start(s, newSettings(c.policy, nil), func() error { return nil })
					defer l.Close()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					result := make(chan error)
					go func() {
						_, err := l.Reserve(ctx, "k", limit, 3, time.Minute)
						result <- err
					}()
					synctest.Wait()
					if c.leave != nil {
						c.leave(cancel)
					}
					if err := <-result; !errors.Is(err, c.err) {
						t.Errorf("the caller gets %v", err)
					}
					close(s.release)
					synctest.Wait()
					if last := s.sent[len(s.sent)-1]; (last == fmt.Sprint("RL.REFUND", "k", int64(3))) != c.refunded {
						t.Errorf("sent: %q", s.sent)
					}
				})
			})
		}
	}
}

// TestDistantPlaceIsGivenBackAfterTheContext: the context ends between the reply with a place that is too far back and
// its refund.
func TestDistantPlaceIsGivenBackAfterTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowly{release: make(chan struct{}), reply: []any{int64(1), int64(9), int64(0), int64(1000), int64(2000)}}
		close(s.release)
		ctx, cancel := context.WithCancel(t.Context())
		hook := WithHooks(Hooks{Decision: func(context.Context, Decision) { cancel() }})
		l := start(s, newSettings(FailClosed(), []Option{hook}), func() error { return nil })
		defer l.Close()
		r, err := l.Reserve(ctx, "k", PerSecond(9).Queue(9), 1, time.Millisecond)
		if err != nil || r.Allowed || len(s.sent) != 2 {
			t.Errorf("%+v, %v; sent: %q", r.Result, err, s.sent)
		}
	})
}
