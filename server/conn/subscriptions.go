package conn

import (
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/resp"
)

// subscriptions are a session's channels. They implement [command.Subscriptions].
type subscriptions struct{ session *Session }

// Subscriptions implements [command.Session].
func (s commandSession) Subscriptions() command.Subscriptions { return subscriptions{s.Session} }

// Subscribe implements [command.Subscriptions].
func (u subscriptions) Subscribe(channel string) (ok bool) {
	s := u.session
	if s.subscriber == nil {
		s.subscriber = s.env.Channels.NewSubscriber(&s.fanout)
	}
	ok = s.subscriber.Subscribe(channel)
	s.channels.Store(int64(len(u.Channels())))
	return ok
}

// Unsubscribe implements [command.Subscriptions].
func (u subscriptions) Unsubscribe(channel string) {
	if s := u.session; s.subscriber != nil {
		s.subscriber.Unsubscribe(channel)
		s.channels.Store(int64(len(u.Channels())))
	}
}

// Channels implements [command.Subscriptions].
func (u subscriptions) Channels() []string {
	if u.session.subscriber == nil {
		return nil
	}
	return u.session.subscriber.Channels()
}

// Number implements [command.Subscriptions].
func (u subscriptions) Number(channel string) int { return u.session.env.Channels.Number(channel) }

// Names implements [command.Subscriptions].
func (u subscriptions) Names(most int) (names []string, ok bool) {
	return u.session.env.Channels.Names(most)
}

// WriteMessages implements [command.Subscriptions]. A connection that did not take its messages in time closes.
func (u subscriptions) WriteMessages(w *resp.Writer) {
	s := u.session
	if s.subscriber == nil {
		return
	}
	messages, ok := s.subscriber.Take()
	if !ok && !s.wait.has(ForClose) {
		s.DropSlowReader(pubsub.MaxQueuedBytes)
		s.wait.begin(ForClose)
	}
	words, before := w.Words, len(w.Buf)
	for _, m := range messages {
		w.Push(3)
		w.BulkString("message")
		w.Bulk(m.Channel)
		w.Bulk(m.Text)
	}
	s.share.chargeWritten(w, words, before)
}

// notePublished notes to which channel the last command of a decided batch published, or may have published. A script is taken to publish to the channel
// that its first key names.
func (u subscriptions) notePublished(batch *commandBatch) {
	last := &batch.replies[len(batch.replies)-1]
	if last.row == nil || last.count == 0 {
		return
	}
	op := &batch.decision.Ops[last.first]
	switch keys := op.DeclaredKeys(); {
	case last.row.Name == "publish":
		u.session.publishesTo = string(op.Args[1])
	case last.row.Cost == command.ScriptRun && len(keys) > 0:
		u.session.publishesTo = string(keys[0])
	}
}

// publisherPause is the time after which a publisher that was too quick for its subscribers goes on.
const publisherPause = time.Millisecond

// outruns reports whether the session has published so much more than the subscribers have taken in their turns that messages would soon be lost.
func (u subscriptions) outruns() bool {
	s := u.session
	if s.publishesTo == "" {
		return false
	}
	lags := s.env.Channels.Lags(s.publishesTo)
	if !lags {
		s.publishesTo = ""
	}
	return lags
}

// end ends all subscriptions, and drops the messages that have come.
func (u subscriptions) end() {
	if s := u.session; s.subscriber != nil {
		s.subscriber.Close()
		s.subscriber = nil
		s.channels.Store(0)
	}
}
