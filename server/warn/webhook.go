package warn

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the webhook.
const (
	// MaxQueued and MaxQueuedBytes bound the warnings that wait to be posted.
	MaxQueued      = 1024
	MaxQueuedBytes = 4 << 20
	// KeptFor is the time for which a warning is tried, and remembered by nodes that do not lead.
	KeptFor = 10 * time.Minute

	timeout    = 5 * time.Second // of one attempt
	firstPause = time.Second     // after a failure; each further one doubles it
	longPause  = time.Minute
	askAgain   = time.Second // whether this node leads
	logAgain   = time.Minute // the lost ones
)

// webhook posts warnings one after the other. In a cluster each node has the warnings of the last minutes, and the leader posts them; a new leader posts them again,
// because the one before may not have.
type webhook struct {
	url    string
	client http.Client
	log    *slog.Logger
	wake   chan struct{}

	posted, failed, lost atomic.Int64

	mu     sync.Mutex
	queue  []queued
	bytes  int
	leads  bool      // this node posts them
	logged time.Time // when a loss was logged last
}

// queued is a warning that waits.
type queued struct {
	id   string
	at   int64 // nanoseconds since the Unix epoch
	text []byte
}

func newWebhook(url string, log *slog.Logger) *webhook {
	return &webhook{
		url: url, log: log, wake: make(chan struct{}, 1),
		client: http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

func (h *webhook) length() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int64(len(h.queue))
}

// add queues a warning. The oldest ones make room for it.
func (h *webhook) add(id string, at int64, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue = append(h.queue, queued{id, at, text})
	h.bytes += len(text)
	for len(h.queue) > MaxQueued || h.bytes > MaxQueuedBytes && len(h.queue) > 1 {
		h.drop("more wait than are kept")
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// drop gives the oldest warning up. A node that does not lead only forgets it.
func (h *webhook) drop(why string) {
	if !h.leads {
		h.remove()
		return
	}
	h.lost.Add(1)
	if now := time.Now(); now.Sub(h.logged) >= logAgain {
		h.logged = now
		h.log.Error("a warning is not posted to --warn-webhook", "why", why, "id", h.queue[0].id, "lost", h.lost.Load())
	}
	h.remove()
}

func (h *webhook) remove() {
	h.bytes -= len(h.queue[0].text)
	h.queue[0] = queued{}
	h.queue = h.queue[1:]
}

// first is the oldest warning that is not too old.
func (h *webhook) first(leads bool) (one queued, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leads = leads
	for len(h.queue) > 0 {
		if time.Now().UnixNano()-h.queue[0].at < int64(KeptFor) {
			return h.queue[0], true
		}
		h.drop("it was tried for " + KeptFor.String())
	}
	return one, false
}

// done removes a warning, unless it had to make room by then. given says that the webhook did not take it.
func (h *webhook) done(one queued, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.queue) == 0 || h.queue[0].id != one.id || h.queue[0].at != one.at:
	case why != "":
		h.drop(why)
	default:
		h.remove()
	}
}

// Run posts warnings to the webhook until ctx is done, while leads says that this process is to.
func (w *Warnings) Run(ctx context.Context, leads func() bool) {
	h := w.webhook
	if h == nil {
		return
	}
	pause := firstPause
	for ctx.Err() == nil {
		isLeader := leads()
		one, found := h.first(isLeader)
		switch {
		case !found:
			select {
			case <-h.wake:
			case <-ctx.Done():
			}
			continue
		case !isLeader:
			sleep(ctx, askAgain)
			continue
		}
		isFinal, err := h.post(ctx, &one)
		switch {
		case err == nil:
			h.posted.Add(1)
			h.done(one, "")
			pause = firstPause
		case ctx.Err() != nil:
		case isFinal:
			h.failed.Add(1)
			h.done(one, err.Error())
		default:
			h.failed.Add(1)
			h.log.Warn("--warn-webhook failed, and is tried again", "error", err, "after", pause)
			sleep(ctx, pause)
			pause = min(2*pause, longPause)
		}
	}
}

// post sends one warning. An error is final if the webhook refused this warning for good.
func (h *webhook) post(ctx context.Context, one *queued) (isFinal bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(one.text))
	if err != nil {
		return true, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", one.id)
	r.Header.Set("User-Agent", "Stint")
	answer, err := h.client.Do(r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 4096) // so that the connection can be used again
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return false, nil
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return true, fmt.Errorf("it answered %s", answer.Status)
	default:
		return false, fmt.Errorf("it answered %s", answer.Status)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
