package conn

import (
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/registry"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/resp"
)

// subscriptions are the channels that a session reads, and the channel to which it publishes. They implement
// [command.Subscriptions].
type subscriptions struct {
	all         *pubsub.Channels
	conn        *registry.Connection
	turn        *share.Member
	subscriber  *pubsub.Subscriber // nil if the connection never subscribed
	publishesTo string             // the channel of the last message, until its subscribers have had their turns
}

func (u *subscriptions) init(s *Session) { u.all, u.conn, u.turn = s.env.Channels, &s.public, &s.turn }

// Subscriptions implements [command.Session].
func (s commandSession) Subscriptions() command.Subscriptions { return &s.subscriptions }

// Subscribe implements [command.Subscriptions].
func (u *subscriptions) Subscribe(channel string) (ok bool) {
	if u.subscriber == nil {
		u.subscriber = u.all.NewSubscriber(&u.conn.Fanout)
	}
	ok = u.subscriber.Subscribe(channel)
	u.conn.Channels.Store(int64(len(u.Channels())))
	return ok
}

// Unsubscribe implements [command.Subscriptions].
func (u *subscriptions) Unsubscribe(channel string) {
	if u.subscriber != nil {
		u.subscriber.Unsubscribe(channel)
		u.conn.Channels.Store(int64(len(u.Channels())))
	}
}

// Channels implements [command.Subscriptions].
func (u *subscriptions) Channels() []string {
	if u.subscriber == nil {
		return nil
	}
	return u.subscriber.Channels()
}

// Number implements [command.Subscriptions].
func (u *subscriptions) Number(channel string) int { return u.all.Number(channel) }

// Names implements [command.Subscriptions].
func (u *subscriptions) Names(most int) (names []string, ok bool) { return u.all.Names(most) }

// WriteMessages implements [command.Subscriptions]. A connection that did not take its messages in time closes.
func (u *subscriptions) WriteMessages(w *resp.Writer) {
	if u.subscriber == nil {
		return
	}
	messages, ok := u.subscriber.Take()
	if !ok && !u.conn.Wait.Has(wait.ForClose) {
		u.conn.DropSlowReader(pubsub.MaxQueuedBytes)
		u.conn.Wait.Begin(wait.ForClose)
	}
	words, before := w.Words, len(w.Buf)
	for _, m := range messages {
		w.Push(3)
		w.BulkString("message")
		w.Bulk(m.Channel)
		w.Bulk(m.Text)
	}
	u.turn.ChargeWritten(w, words, before)
}

// channel is the channel to which the last command of a batch publishes, or may publish. A script is taken to publish to
// the channel that its first key names. It must be asked before the decision, after which the input may be gone.
func (batch *commandBatch) channel() string {
	if len(batch.replies) == 0 {
		return ""
	}
	last := &batch.replies[len(batch.replies)-1]
	if last.row == nil || last.count == 0 {
		return ""
	}
	op := &batch.decision.Ops[last.first]
	switch keys := op.DeclaredKeys(); {
	case last.row.Name == "publish":
		return string(op.Args[1])
	case last.row.Cost == command.ScriptRun && len(keys) > 0:
		return string(keys[0])
	}
	return ""
}

// publisherPause is the time after which a publisher that was too quick for its subscribers goes on.
const publisherPause = time.Millisecond

// outruns reports whether the session has published so much more than the subscribers have taken in their turns that
// messages would soon be lost.
func (u *subscriptions) outruns() bool {
	if u.publishesTo == "" {
		return false
	}
	lags := u.all.Lags(u.publishesTo)
	if !lags {
		u.publishesTo = ""
	}
	return lags
}

// end ends all subscriptions, and drops the messages that have come.
func (u *subscriptions) end() {
	if u.subscriber != nil {
		u.subscriber.Close()
		u.subscriber = nil
		u.conn.Channels.Store(0)
	}
}
