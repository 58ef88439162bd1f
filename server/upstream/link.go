package upstream

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"time"
)

// link is an open connection to home.
type link struct {
	conn net.Conn
	in   *bufio.Reader

	mu    sync.Mutex
	out   []byte
	sent  []*ask // in order; expired ones stay until their answers come
	heard time.Time
	wake  chan struct{} // closed by end
	ended bool
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, in: bufio.NewReader(conn), heard: time.Now(), wake: make(chan struct{}, 1)}
}

// open logs in and makes sure that home answers.
func (l *link) open(login []string) error {
	_ = l.conn.SetDeadline(time.Now().Add(linkTimeout))
	defer l.conn.SetDeadline(time.Time{})
	for _, words := range [][]string{login, {"PING"}} {
		if words == nil {
			continue
		}
		if _, err := l.conn.Write(appendCommand(nil, words)); err != nil {
			return err
		}
		r, err := readReply(l.in)
		if err != nil {
			return err
		}
		if r.refusal != "" {
			return fmt.Errorf("%w: %.*s", errNoLogin, maxRefusal, r.refusal)
		}
	}
	return nil
}

func (l *link) add(a *ask) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return errNotSent
	case len(l.sent) >= maxAsked || len(l.out) >= maxOutgoing:
		return errFull
	case len(l.sent) == 0:
		l.heard = time.Now()
	}
	l.out, l.sent = appendCommand(l.out, a.words), append(l.sent, a)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// write sends requests until the connection ends.
func (l *link) write() {
	var b []byte
	for range l.wake {
		l.mu.Lock()
		b, l.out = l.out, b[:0]
		l.mu.Unlock()
		_ = l.conn.SetWriteDeadline(time.Now().Add(linkTimeout))
		if _, err := l.conn.Write(b); err != nil {
			l.conn.Close() // which ends read
		}
	}
}

// end ends write.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.wake)
}

// read answers requests until the connection ends.
func (l *link) read(refused func(string)) error {
	for {
		r, err := readReply(l.in)
		if err != nil {
			return err
		}
		l.mu.Lock()
		if len(l.sent) == 0 {
			l.mu.Unlock()
			return errReply
		}
		a := l.sent[0]
		l.sent[0] = nil
		l.sent, l.heard = l.sent[1:], time.Now()
		answer := a.answer
		a.answer = nil
		l.mu.Unlock()
		if r.refusal != "" {
			refused(r.refusal)
		}
		if answer != nil {
			answer(r, nil)
		}
	}
}

// expire answers requests whose time is over, and closes a connection that does not answer.
func (l *link) expire(now time.Time) {
	var late []func(reply, error)
	l.mu.Lock()
	for _, a := range l.sent {
		if a.answer != nil && now.After(a.until) {
			late = append(late, a.answer)
			a.answer = nil
		}
	}
	silent := len(l.sent) > 0 && now.Sub(l.heard) > linkTimeout
	l.mu.Unlock()
	for _, answer := range late {
		answer(reply{}, errUnknown)
	}
	if silent {
		l.conn.Close()
	}
}

// takeAll ends the link and returns its requests that have no answer.
func (l *link) takeAll() (all []*ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, a := range l.sent {
		if a.answer != nil {
			all = append(all, &ask{answer: a.answer})
			a.answer = nil
		}
	}
	l.sent = nil
	return all
}
