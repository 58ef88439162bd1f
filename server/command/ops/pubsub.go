package ops

import (
	"slices"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/resp"
)

var pubSubRows = []command.Row{{
	Name: "subscribe", Syntax: "channel ...", Group: "pubsub",
	Summary: "Receive the messages of channels. With RESP2, the connection may then only use SUBSCRIBE, UNSUBSCRIBE, PING, QUIT and RESET. " +
		"A connection that does not read its messages is closed.",
	Returns: "for each channel, `subscribe`, the channel and the number of the connection's channels. Then, for each message, `message`, the channel and the message. With RESP3, all of these are push messages.",
	Example: "news",
	Cost:    command.Report, Flags: command.PubSub | command.NotInMulti | command.NotInScripts, Run: runSubscribe,
}, {
	Name: "unsubscribe", Syntax: "[channel ...]", Group: "pubsub",
	Summary: "Stop receiving the messages of the given channels, or of all channels.",
	Returns: "for each channel, `unsubscribe`, the channel and the number of remaining channels.",
	Example: "news",
	Cost:    command.Report, Flags: command.PubSub | command.NotInMulti | command.NotInScripts, Run: runUnsubscribe,
}, {
	Name: "pubsub", Group: "pubsub", Summary: "Inspect channels and subscriptions of connections to this node.",
	Sub: []command.Row{{
		Name: "channels", Syntax: "[pattern]", Group: "pubsub", Summary: "The channels that have subscribers.",
		Returns: "an array of channels; in a script none.", Example: "*",
		Cost: command.ConnectionPass, Flags: command.PubSub, Run: runPubSubChannels, Data: data.Code(func(c *data.Call) { c.Writer.Array(0) }), Dialect: 2,
	}, {
		Name: "numsub", Syntax: "[channel ...]", Group: "pubsub", Summary: "The numbers of subscribers of channels.",
		Returns: "an array of each channel and its number of subscribers, in a script 0.", Example: "news",
		Cost: command.Report, Flags: command.PubSub, Run: runPubSubNumbers, Data: data.Code(numbersInScript), Dialect: 2,
	}, {
		Name: "numpat", Group: "pubsub", Summary: "Always 0, because Stint has no subscriptions to patterns.",
		Returns: "0.",
		Cost:    command.Light, Flags: command.PubSub, Run: func(_ command.Session, w *resp.Writer, _ [][]byte) { w.Int(0) },
		Data: data.Code(func(c *data.Call) { c.Writer.Int(0) }), Dialect: 2,
	}},
}}

func runSubscribe(s command.Session, w *resp.Writer, args [][]byte) {
	subscriptions := s.Subscriptions()
	for _, channel := range args[1:] {
		if !subscriptions.Subscribe(string(channel)) {
			w.Error(errManyChannels.With(pubsub.MaxChannels, pubsub.MaxChannelBytes).Error())
			return
		}
		writeSubscription(w, "subscribe", channel, subscriptions)
	}
}

func runUnsubscribe(s command.Session, w *resp.Writer, args [][]byte) {
	subscriptions := s.Subscriptions()
	subscriptions.WriteMessages(w) // because no message may come after the reply
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

// writeSubscription writes the reply of SUBSCRIBE and UNSUBSCRIBE for one channel, or for none if channel is nil.
func writeSubscription(w *resp.Writer, kind string, channel []byte, subscriptions command.Subscriptions) {
	w.Push(3)
	w.BulkString(kind)
	if channel == nil {
		w.Null()
	} else {
		w.Bulk(channel)
	}
	w.Int(int64(len(subscriptions.Channels())))
}

// maxListedChannels limits the channels through which PUBSUB CHANNELS looks.
const maxListedChannels = 10_000

func runPubSubChannels(s command.Session, w *resp.Writer, args [][]byte) {
	if len(args) > 3 {
		w.Error(errSubcommand.With(command.Truncate(args[1], 64), "PUBSUB").Error())
		return
	}
	f := command.Finder{Pattern: "*"}
	if len(args) > 2 {
		f.Pattern = string(args[2])
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
		if f.Matches([]byte(name)) {
			matching = append(matching, []byte(name))
			bytes += len(name)
		}
		if f.TooManySteps || f.Steps >= command.MaxScanSteps {
			w.Error(command.ErrPattern.Error())
			return
		}
	}
	if bytes > command.MaxKeysBytes {
		w.Error(errListedChannels.With(maxListedChannels).Error())
		return
	}
	command.WriteKeys(w, matching)
}

// numbersInScript knows no subscribers: each node has others, and all must come to the same result.
func numbersInScript(c *data.Call) {
	c.Writer.Array(2 * len(c.Args[2:]))
	for _, channel := range c.Args[2:] {
		c.Writer.Bulk(channel)
		c.Writer.Int(0)
	}
}

func runPubSubNumbers(s command.Session, w *resp.Writer, args [][]byte) {
	w.Array(2 * len(args[2:]))
	for _, channel := range args[2:] {
		w.Bulk(channel)
		w.Int(int64(s.Subscriptions().Number(string(channel))))
	}
}
