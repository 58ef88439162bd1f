package command

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/resp"
)

var pubSubRows = []Row{{
	Name: "publish", Syntax: "channel message", Group: "pubsub",
	Summary: "Send a message to the subscribers of a channel, on every node of a cluster. Nothing of it is kept: connections that are not subscribed now miss it.",
	Returns: "the number of receivers; in a cluster, those connected to the node that decides. Within a script 0, because every node runs the script.",
	Example: "news hello",
	Cost:    ValueCopy, Flags: Write | Fast | PubSub, Data: publish, Reply: replyPublish,
}, {
	Name: "subscribe", Syntax: "channel ...", Group: "pubsub",
	Summary: "Receive the messages of channels. With RESP2 the connection is then for SUBSCRIBE, UNSUBSCRIBE, PING, QUIT and RESET alone. " +
		"A connection that does not read its messages is closed.",
	Returns: "for each channel, `subscribe`, the channel and the number of the connection's channels. Then, for each message, `message`, the channel and the message. With RESP3 they are push messages.",
	Example: "news",
	Cost:    Report, Flags: PubSub | NotInMulti | NotInScripts, Run: runSubscribe,
}, {
	Name: "unsubscribe", Syntax: "[channel ...]", Group: "pubsub",
	Summary: "Receive no more messages of channels, by default of all.",
	Returns: "for each channel, `unsubscribe`, the channel and the number of channels that are left.",
	Example: "news",
	Cost:    Report, Flags: PubSub | NotInMulti | NotInScripts, Run: runUnsubscribe,
}, {
	Name: "pubsub", Group: "pubsub", Summary: "Inspect channels and subscriptions. They are those of the connections to this node.",
	Sub: []Row{{
		Name: "channels", Syntax: "[pattern]", Group: "pubsub", Summary: "The channels that have subscribers.",
		Returns: "an array of channels.", Example: "*",
		Cost: ConnectionPass, Flags: PubSub, Run: runPubSubChannels,
	}, {
		Name: "numsub", Syntax: "[channel ...]", Group: "pubsub", Summary: "The numbers of subscribers of channels.",
		Returns: "an array of each channel, followed by the number.", Example: "news",
		Cost: Report, Flags: PubSub, Run: runPubSubNumbers,
	}, {
		Name: "numpat", Group: "pubsub", Summary: "The number of subscriptions to patterns: there are none.",
		Returns: "0.",
		Cost:    Light, Flags: PubSub, Run: func(_ Session, w *resp.Writer, _ [][]byte) { w.Int(0) },
	}},
}}

func publish(c *DataCall) {
	if !c.Tx.Publish(c.Args[1], c.Args[2]) {
		c.fail(errManyMessages.With(store.MaxPublished, store.MaxPublishedBytes))
		return
	}
	c.Writer.Int(0)
}

// replyPublish answers with the number of receivers, which the node that decides knows.
func replyPublish(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if res := &results[0]; res.Remaining > 0 {
		w.Int(res.Remaining)
		return
	}
	replyData(w, ops, results)
}

func runSubscribe(s Session, w *resp.Writer, args [][]byte) {
	subscriptions := s.Subscriptions()
	for _, channel := range args[1:] {
		if !subscriptions.Subscribe(string(channel)) {
			w.Error(errManyChannels.With(pubsub.MaxChannels, pubsub.MaxChannelBytes).Error())
			return
		}
		writeSubscription(w, "subscribe", channel, subscriptions)
	}
}

func runUnsubscribe(s Session, w *resp.Writer, args [][]byte) {
	subscriptions := s.Subscriptions()
	subscriptions.WriteMessages(w) // none comes after the reply
	channels := args[1:]
	if len(channels) == 0 {
		for _, channel := range subscriptions.Channels() {
			channels = append(channels, []byte(channel))
		}
	}
	for _, channel := range channels {
		subscriptions.Unsubscribe(string(channel))
		writeSubscription(w, "unsubscribe", channel, subscriptions)
	}
	if len(channels) == 0 {
		writeSubscription(w, "unsubscribe", nil, subscriptions)
	}
}

// writeSubscription writes what SUBSCRIBE and UNSUBSCRIBE answer for one channel, nil for none.
func writeSubscription(w *resp.Writer, kind string, channel []byte, subscriptions Subscriptions) {
	w.Push(3)
	w.BulkString(kind)
	if channel == nil {
		w.Null()
	} else {
		w.Bulk(channel)
	}
	w.Int(int64(len(subscriptions.Channels())))
}

// ChannelsOf returns the arguments that are channels which a user needs a right to.
func (r *Row) ChannelsOf(args [][]byte) [][]byte {
	switch r.Name {
	case "publish":
		return args[1:2]
	case "subscribe":
		return args[1:]
	}
	return nil
}

// NeedsConnection reports whether the row makes no sense in a request without a connection in RESP.
func (r *Row) NeedsConnection() bool {
	const kinds, notQueued = Connection | PubSub, NoMulti | NotInMulti
	return r.Flags&kinds != 0 && r.Flags&notQueued != 0 || r.FullName == "monitor"
}

// AllowedSubscribed reports whether a connection in RESP2 may use the row while it is subscribed to channels.
func (r *Row) AllowedSubscribed() bool {
	switch r.FullName {
	case "subscribe", "unsubscribe", "ping", "quit", "reset":
		return true
	}
	return false
}

// maxListedChannels bounds the channels that PUBSUB CHANNELS looks through.
const maxListedChannels = 10_000

func runPubSubChannels(s Session, w *resp.Writer, args [][]byte) {
	if len(args) > 3 {
		w.Error(errSubcommand.With(truncate(args[1], 64), "PUBSUB").Error())
		return
	}
	f := finder{pattern: "*"}
	if len(args) > 2 {
		f.pattern = string(args[2])
	}
	names, ok := s.Subscriptions().Names(maxListedChannels)
	if !ok {
		w.Error(errListedChannels.With(maxListedChannels).Error())
		return
	}
	slices.Sort(names)
	var matching [][]byte
	bytes := 0
	for _, name := range names {
		if f.matches([]byte(name)) {
			matching = append(matching, []byte(name))
			bytes += len(name)
		}
		if f.tooManySteps || f.steps >= maxScanSteps {
			w.Error(errPattern.Error())
			return
		}
	}
	if bytes > maxKeysBytes {
		w.Error(errListedChannels.With(maxListedChannels).Error())
		return
	}
	writeKeys(w, matching)
}

func runPubSubNumbers(s Session, w *resp.Writer, args [][]byte) {
	w.Array(2 * len(args[2:]))
	for _, channel := range args[2:] {
		w.Bulk(channel)
		w.Int(int64(s.Subscriptions().Number(string(channel))))
	}
}
