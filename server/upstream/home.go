package upstream

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/closenotify"
	"github.com/stintdb/stint/internal/loans"
)

// Bounds of the connection to home.
const (
	maxAsked    = 4096            // requests that have no answer yet
	linkTimeout = 3 * time.Second // a connection is closed after this time without any answer
	pingEvery   = time.Second
	firstPause  = 100 * time.Millisecond // after a failed attempt to connect, doubled up to lastPause
	lastPause   = 2 * time.Second
	lookEvery   = 10 * time.Millisecond // requests whose time is over are looked for
	maxOutgoing = 1 << 20               // bytes of requests that the network has not taken yet
	maxRefusal  = 200                   // bytes of an error that are kept
)

// home is one connection to the home cluster. Requests are sent together, and answered in order.
type home struct {
	addresses []string
	dial      Dial
	login     []string // the words of AUTH, nil for none
	log       *slog.Logger
	turns     loans.Turns // of steps of operations on loans
	gone      func()      // called when this gives up connecting; nil to go on for ever

	mu      sync.Mutex
	current *link  // nil while there is none
	down    bool   // the last attempts to connect to each address have failed
	waiting []*ask // requests while it connects, unless it is down
	failure string // of the last attempt, or the last error that home has answered

	background sync.WaitGroup
	stop       context.CancelFunc
}

// ask is a request to home.
type ask struct {
	words  []string
	until  time.Time
	answer func(reply, error) // called once; nil afterwards
}

func (h *home) start() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop, h.turns = cancel, loans.NewTurns()
	h.background.Go(func() { h.run(ctx) })
	h.background.Go(func() { h.expire(ctx) })
}

func (h *home) close() {
	h.stop()
	h.mu.Lock()
	if h.current != nil {
		h.current.conn.Close()
	}
	h.mu.Unlock()
	h.background.Wait()
	h.end(nil)
	h.giveUp()
}

// send asks home. answer is called once, perhaps before send returns.
func (h *home) send(timeout time.Duration, words []string, answer func(reply, error)) {
	a := &ask{words: words, until: time.Now().Add(timeout), answer: answer}
	h.mu.Lock()
	var err error
	switch l := h.current; {
	case l != nil:
		err = l.add(a)
	case h.down || len(h.waiting) >= maxAsked:
		err = errNotSent
	default:
		h.waiting = append(h.waiting, a)
	}
	h.mu.Unlock()
	if err != nil {
		answer(reply{}, err)
	}
}

// run connects to home again and again. It pauses, and home is down, once all addresses in a row have failed.
func (h *home) run(ctx context.Context) {
	pause, failed := firstPause, 0
	for at := 0; ctx.Err() == nil; at++ {
		address := h.addresses[at%len(h.addresses)]
		began := time.Now()
		err := h.serve(ctx, address)
		wasDown, wasUp := h.end(err)
		if ctx.Err() != nil {
			return
		}
		isLong := time.Since(began) > lastPause
		if isLong {
			pause = firstPause
		}
		if !wasDown {
			h.log.Warn("cannot connect to the home cluster", "address", address, "error", err)
		}
		if wasUp && isLong { // a home that closes each connection at once is as good as down
			failed = 0
		}
		if failed++; failed < len(h.addresses) {
			continue
		}
		failed = 0
		h.giveUp()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		if h.gone != nil && pause == lastPause {
			h.gone()
			h.stop()
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// serve connects to an address and reads answers until the connection ends.
func (h *home) serve(ctx context.Context, address string) error {
	attempt, cancel := context.WithTimeout(ctx, linkTimeout)
	conn, err := h.dial(attempt, address)
	cancel()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	l := newLink(conn)
	if err := l.open(h.login); err != nil {
		return err
	}
	h.mu.Lock()
	h.current, h.down = l, false
	for _, a := range h.waiting {
		_ = l.add(a) // there is room: the same bound
	}
	h.waiting = nil
	h.mu.Unlock()
	h.log.Info("connected to the home cluster", "address", address)
	var writing sync.WaitGroup
	writing.Go(l.write)
	err = l.read(h.heard)
	conn.Close()
	l.end()
	writing.Wait()
	return err
}

// heard keeps an error that home has answered.
func (h *home) heard(refusal string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if codeOf(refusal) != movedCode {
		h.failure = refusal[:min(len(refusal), maxRefusal)]
	}
}

// end ends the connection, if there is one. The requests that were sent may have been carried out.
func (h *home) end(err error) (wasDown, wasUp bool) {
	h.mu.Lock()
	l := h.current
	wasDown, h.current = h.down, nil
	if err != nil {
		h.failure = err.Error()
	}
	h.mu.Unlock()
	if l == nil {
		return wasDown, false
	}
	for _, a := range l.takeAll() {
		a.answer(reply{}, errUnknown)
	}
	return wasDown, true
}

// giveUp answers the requests that wait for a connection, and all that come until there is one.
func (h *home) giveUp() {
	h.mu.Lock()
	waiting := h.waiting
	h.waiting, h.down = nil, true
	h.mu.Unlock()
	for _, a := range waiting {
		a.answer(reply{}, errNotSent)
	}
}

// expire ends requests whose time is over, and connections that do not answer.
func (h *home) expire(ctx context.Context) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	var pinged time.Time
	for {
		select {
		case now := <-ticks.C:
			h.mu.Lock()
			l := h.current
			late := expired(&h.waiting, now)
			if l != nil && now.Sub(pinged) >= pingEvery {
				pinged = now
				_ = l.add(&ask{words: []string{"PING"}, until: now.Add(linkTimeout), answer: func(reply, error) {}})
			}
			h.mu.Unlock()
			for _, a := range late {
				a.answer(reply{}, errNotSent)
			}
			if l != nil {
				l.expire(now)
			}
		case <-ctx.Done():
			return
		}
	}
}

// expired removes the requests whose time is over.
func expired(all *[]*ask, now time.Time) (late []*ask) {
	kept := (*all)[:0]
	for _, a := range *all {
		if now.After(a.until) {
			late = append(late, a)
		} else {
			kept = append(kept, a)
		}
	}
	clear((*all)[len(kept):])
	*all = kept
	return late
}

// status reports whether there is a connection, and the last failure.
func (h *home) status() (connected bool, failure string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current != nil, h.failure
}

// Dial connects to an address.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// Dialer returns a Dial by TCP, with TLS if secrets is not nil. secrets makes the configuration of each connection.
func Dialer(secrets func() *tls.Config) Dial {
	plain := &net.Dialer{KeepAlive: pingEvery}
	if secrets == nil {
		return func(ctx context.Context, address string) (net.Conn, error) {
			return plain.DialContext(ctx, "tcp", address)
		}
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&tls.Dialer{NetDialer: plain, Config: secrets()}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("by TLS: %w", err)
		}
		return closenotify.Without(conn.(*tls.Conn)), nil
	}
}
