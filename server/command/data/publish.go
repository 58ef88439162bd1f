package data

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var publishRows = []command.Row{{
	Name: "publish", Syntax: "channel message", Group: "pubsub",
	Summary: "Send a message to the subscribers of a channel, on every node of a cluster. Messages are not stored: a connection that subscribes later misses them.",
	Returns: "the number of receivers; in a cluster, only of those that are connected to the node that executes the command; in a script 0.",
	Example: "news hello",
	Cost:    command.ValueCopy, Flags: command.Write | command.Fast | command.PubSub, Data: Code(publish), Reply: replyPublish,
}}

func publish(c *Call) {
	if !c.Tx.Publish(c.Args[1], c.Args[2]) {
		c.Fail(errManyMessages.With(transaction.MaxPublished, transaction.MaxPublishedBytes))
		return
	}
	c.Writer.Int(0)
}

// replyPublish replies with the number of receivers, which only the node that decides knows.
func replyPublish(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if res := &results[0]; res.Remaining > 0 {
		w.Int(res.Remaining)
		return
	}
	ReplyData(w, ops, results)
}
