package transaction

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
)

// Bounds of the messages of one transaction.
const (
	MaxPublished      = 100
	MaxPublishedBytes = engine.MaxValueBytes // of the messages and their channels
)

// message is what a transaction publishes.
type message struct{ channel, text []byte }

// Publish has a message handed to [Config].Publish when the transaction ends and is kept. It reports false if that is
// more than the transaction may publish. The store keeps nothing of messages.
func (t *Tx) Publish(channel, text []byte) (ok bool) {
	if t.publishedBytes += len(channel) + len(text); len(t.published) == MaxPublished || t.publishedBytes > MaxPublishedBytes {
		t.publishedBytes -= len(channel) + len(text)
		return false
	}
	t.work += keyWork + (len(channel)+len(text))/keyspace.WorkBytes
	t.published = append(t.published, message{bytes.Clone(channel), bytes.Clone(text)})
	return true
}

// deliver hands over the messages.
func (t *Tx) deliver(res *engine.Result) {
	if t.runner.config.Publish == nil {
		return
	}
	receivers := 0
	for _, m := range t.published {
		receivers += t.runner.config.Publish(m.channel, m.text)
	}
	res.Remaining = int64(receivers)
	res.Work += receivers
}
