// Package warn sends the warnings of limits with WARN to the subscribers of a channel, and to a webhook.
package warn

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/internal/bytetext"
)

// Channel is the channel on which warnings are published.
const Channel = "__stint__:warn"

// Options are the options of [New].
type Options struct {
	Publish func(channel, text []byte) (receivers int)
	Webhook string // the URL, "" for none
	Log     *slog.Logger
}

// Warnings publishes and posts warnings. Create one with [New].
type Warnings struct {
	publish func(channel, text []byte) (receivers int)
	webhook *webhook // nil for none
	given   atomic.Int64
}

// New returns a Warnings that publishes at once, and posts to the webhook while Run runs.
func New(o Options) *Warnings {
	w := &Warnings{publish: o.Publish}
	if o.Webhook != "" {
		w.webhook = newWebhook(o.Webhook, o.Log)
	}
	return w
}

// Counts are the counts since the start.
type Counts struct {
	Given  int64 // warnings
	Posted int64 // warnings that the webhook took
	Failed int64 // failed attempts to post a warning
	Lost   int64 // warnings that were given up
	Queued int64 // warnings that wait to be posted, or on a node that does not lead, to be forgotten

	HasWebhook bool
}

// Counts returns the present counts.
func (w *Warnings) Counts() Counts {
	c := Counts{Given: w.given.Load()}
	if h := w.webhook; h != nil {
		c.HasWebhook, c.Posted, c.Failed, c.Lost, c.Queued = true, h.posted.Load(), h.failed.Load(), h.lost.Load(), h.length()
	}
	return c
}

// Note takes a warning from the store, which holds locks. So it does not block, and it does not keep the warning.
func (w *Warnings) Note(of *engine.Warning) {
	w.given.Add(1)
	text := message(of)
	w.publish([]byte(Channel), text)
	if w.webhook != nil {
		w.webhook.add(of.ID(), of.At, text)
	}
}

// message is the text of a warning.
func message(w *engine.Warning) []byte {
	number, key := database.Split(w.Key)
	text, binary := bytetext.JSON(key)
	body := struct {
		ID        string  `json:"id"`
		Key       *string `json:"key,omitempty"`
		KeyBase64 []byte  `json:"key_base64,omitempty"` // replaces key if that is not UTF-8
		Database  uint8   `json:"database,omitempty"`
		Algorithm string  `json:"algorithm"`
		Limit     int64   `json:"limit"`
		Used      int64   `json:"used"`
		Warn      string  `json:"warn"`
		At        string  `json:"at"`
		Begin     string  `json:"begin,omitempty"`
		End       string  `json:"end,omitempty"`
	}{
		w.ID(), text, binary, number, w.Limit.Algorithm.String(), w.Limit.Capacity, w.Used, strconv.Itoa(int(w.Limit.Warn)) + "%", timeText(w.At), "", "",
	}
	if w.End != 0 {
		body.Begin, body.End = timeText(w.Start), timeText(w.End)
	}
	written, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and numbers can always be marshaled
	}
	return written
}

func timeText(nanos int64) string {
	return time.Unix(0, nanos).UTC().Format("2006-01-02T15:04:05.000Z")
}
