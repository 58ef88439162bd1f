//go:build !linux || goroutines

package netio

import (
	"net"
	"sync"
	"time"

	"github.com/stintdb/stint/server/conn"
)

// goroutines serves each connection by a goroutine of its own, on systems for which there is no event loop here. The
// build tag goroutines has it on Linux too, for tests.
type goroutines struct {
	env *conn.Env

	mu    sync.Mutex
	conns map[*blockingConn]bool // that are not over
	ended sync.WaitGroup
}

func startEventLoop(env *conn.Env, lag *LoopLag, _ bool) (eventLoop, error) {
	l := &goroutines{env: env, conns: make(map[*blockingConn]bool)}
	lag.add(l)
	return l, nil
}

// execute implements taskLoop: the lag is the time until Go's scheduler runs another goroutine.
func (l *goroutines) execute(task func()) bool {
	go task()
	return true
}

// assign implements eventLoop.
func (l *goroutines) assign(client net.Conn, from origin, done func(error)) {
	defer done(nil)
	c := &blockingConn{}
	c.begin(l.env, client)
	if err := c.open(from); err != nil {
		_ = client.SetWriteDeadline(time.Now().Add(refusalTimeout))
		_, _ = client.Write(refusal(err))
		closeStream(client)
		return
	}
	l.mu.Lock()
	l.conns[c] = true
	l.mu.Unlock()
	l.ended.Go(func() {
		c.read()
		c.end(func() { closeStream(client) })
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, c)
	})
}

// refusalTimeout bounds the write of an error to a client that is not served. The buffers of a new connection are
// empty.
const refusalTimeout = 100 * time.Millisecond

// closeStream closes a connection whose client may still have to read its answers.
func closeStream(client net.Conn) {
	EndStream(client)
	_ = client.Close()
}

// open registers a session. A wake-up may come before it returns, and then waits.
func (c *blockingConn) open(from origin) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s, err = openSession(c.env, from, c, c.wake, nil)
	return err
}

// stop implements eventLoop.
func (l *goroutines) stop() error {
	l.mu.Lock()
	for c := range l.conns {
		c.abort() // reads and writes that wait return
		go func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.over = true
			c.readOn()
		}()
	}
	l.mu.Unlock()
	l.ended.Wait()
	return nil
}
