package warn

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The limits and times of the webhook.
const (
	// MaxQueued and MaxQueuedBytes limit the warnings that wait to be posted.
	MaxQueued      = 1024
	MaxQueuedBytes = 4 << 20
	// KeptFor is how long a warning is tried, or remembered by nodes that do not lead.
	KeptFor = 10 * time.Minute

	timeout    = 5 * time.Second // of one attempt
	firstPause = time.Second     // after a failure; it doubles with each further one
	longPause  = time.Minute     // the longest pause
	askAgain   = time.Second     // how often a node asks whether it leads
	logAgain   = time.Minute     // how often losses, and failures in a row, are logged

	// After severalFailures in a row, the endpoint itself is assumed to fail. Then warnings that failed before are
	// tried less and less often, and new warnings newPause apart, so that each is tried once before it is too old.
	severalFailures = 3
	newPause        = KeptFor / 2 / MaxQueued
)

// webhook posts warnings, one at a time. In a cluster, each node has the warnings of the last minutes, and the leader
// posts them. A new leader posts them again, because the previous one may not have posted all.
type webhook struct {
	url    string
	client http.Client
	log    *slog.Logger
	wake   chan struct{}

	posted, failed, lost atomic.Int64

	mu    sync.Mutex
	queue queue
	leads bool // this node posts them

	failures   int       // failures in a row, of any warnings
	newFrom    time.Time // after several failures: when a new warning may be tried
	againFrom  time.Time // after several failures: when a warning that failed before may be tried
	lastPosted time.Time
	lossLogged time.Time // when a loss was last logged
	failLogged time.Time // when a failure was last logged
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
	return int64(h.queue.length())
}

// add queues a warning, unless it is too old: a node that starts reads old warnings in its log. If too many wait, it
// gives up the oldest one that was tried, or if none was tried, the oldest.
func (h *webhook) add(id string, at int64, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := &queued{id: id, at: at, came: time.Now(), text: text}
	if one.isOld(one.came) {
		return
	}
	h.queue.add(one)
	for h.queue.isTooLong() {
		h.drop(h.queue.toMakeRoom(), "too many warnings were waiting")
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// drop gives up a warning. On a node that does not lead, it only forgets it.
func (h *webhook) drop(one *queued, why string) {
	h.queue.remove(one)
	if !h.leads {
		return
	}
	h.lost.Add(1)
	if now := time.Now(); now.Sub(h.lossLogged) >= logAgain {
		h.lossLogged = now
		h.log.Error("a warning was lost, because it could not be posted to --warn-webhook", "why", why, "id", one.id, "lost", h.lost.Load())
	}
}

// dropOld gives up warnings that are too old. It keeps an untried warning if another one was posted after it came: then
// the endpoint works, and the warning will have its turn.
func (h *webhook) dropOld(now time.Time) {
	for _, list := range [][]*queued{h.queue.tried, h.queue.untried} {
		fresh := slices.IndexFunc(list, func(one *queued) bool { return !one.isOld(now) }) // later ones are not old either
		if fresh < 0 {
			fresh = len(list)
		}
		for _, one := range slices.Clone(list[:fresh]) {
			if !h.leads || one.tries > 0 || !h.lastPosted.After(one.came) {
				h.drop(one, "it was tried for "+KeptFor.String())
			}
		}
	}
}

// next returns the warning to try now. If there is none, it returns how long to wait unless another warning is added,
// or 0 if no warning is left.
func (h *webhook) next(leads bool) (one *queued, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.leads = leads
	h.dropOld(now)
	if h.queue.length() == 0 {
		return nil, 0
	}
	if !leads {
		return nil, askAgain
	}
	due := now.Add(longPause)
	if len(h.queue.untried) > 0 {
		one, due = h.queue.untried[0], h.newFrom
	}
	if again := h.queue.firstDue(); again != nil && (one == nil || due.After(now)) {
		if at := later(again.next, h.againFrom); at.Before(due) {
			one, due = again, at
		}
	}
	if wait = due.Sub(now); wait > 0 {
		return nil, wait
	}
	return one, 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// done notes the outcome of an attempt.
func (h *webhook) done(one *queued, isFinal bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if err == nil || isFinal { // the endpoint works
		h.failures, h.newFrom, h.againFrom = 0, time.Time{}, time.Time{}
	}
	switch {
	case err == nil:
		h.posted.Add(1)
		h.lastPosted = now
		h.queue.remove(one)
		return
	case isFinal:
		h.failed.Add(1)
		if h.queue.has(one) { // it may have been given up in between
			h.drop(one, err.Error())
		}
		return
	}
	h.failed.Add(1)
	one.next = now.Add(pauseAfter(one.tries))
	h.queue.again(one)
	h.failures++
	if several := h.failures - severalFailures; several >= 0 {
		h.newFrom, h.againFrom = now.Add(newPause), now.Add(pauseAfter(several))
	}
	if h.failures <= severalFailures || now.Sub(h.failLogged) >= logAgain {
		h.failLogged = now
		h.log.Warn("a warning was not accepted by --warn-webhook, and will be sent again", "error", err, "id", one.id, "failures_in_a_row", h.failures)
	}
}

// pauseAfter returns the pause after a failure, given the number of earlier failures.
func pauseAfter(failures int) time.Duration {
	return min(firstPause<<min(failures, 10), longPause)
}

// Run posts warnings to the webhook until ctx is done, whenever leads reports that this process leads.
func (w *Warnings) Run(ctx context.Context, leads func() bool) {
	h := w.webhook
	if h == nil {
		return
	}
	for ctx.Err() == nil {
		isLeader := leads()
		one, wait := h.next(isLeader)
		switch {
		case one != nil:
			isFinal, err := h.post(ctx, one)
			if ctx.Err() == nil || err == nil {
				h.done(one, isFinal, err)
			}
		case !isLeader && wait > 0:
			sleep(ctx, wait, nil)
		default:
			sleep(ctx, wait, h.wake)
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
	_, _ = io.CopyN(io.Discard, answer.Body, 4096) // so that the connection can be reused
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return false, nil
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return true, fmt.Errorf("it answered %s", answer.Status)
	default:
		return false, fmt.Errorf("it answered %s", answer.Status)
	}
}

// sleep waits for d, or forever if d is 0, until wake or the end of ctx.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	var over <-chan time.Time
	if d > 0 {
		over = time.After(d)
	}
	select {
	case <-over:
	case <-wake:
	case <-ctx.Done():
	}
}
