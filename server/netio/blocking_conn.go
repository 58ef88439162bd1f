package netio

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/conn"
)

// blockingConn is a connection with a goroutine of its own, which reads it and passes the bytes to the session. A
// wake-up calls the session from another goroutine. Writes block, so a client that does not read is not read from
// either.
type blockingConn struct {
	env    *conn.Env
	stream net.Conn
	s      *conn.Session

	mu    sync.Mutex // one turn at a time
	over  bool
	woken atomic.Bool

	served chan struct{} // holds an item after a turn without input, until the reader looks whether to read on

	writing atomic.Bool
	cut     atomic.Bool // a write failed, so the client cannot read anything after it
}

// readBuffers are the buffers of readers, of type *[readBytes]byte.
var readBuffers = sync.Pool{New: func() any { return new([readBytes]byte) }}

// readBytes is the most that one read of a blocking connection takes: the size of a TLS record.
const readBytes = 16 << 10

func (c *blockingConn) begin(env *conn.Env, stream net.Conn) {
	c.env, c.stream, c.served = env, stream, make(chan struct{}, 1)
}

// read passes the input to the session until the connection is over.
func (c *blockingConn) read() {
	in := readBuffers.Get().(*[readBytes]byte)
	defer readBuffers.Put(in)
	for {
		n, err := c.stream.Read(in[:])
		if n > 0 && c.turn(in[:n]) {
			return
		}
		for !c.takesInput(err != nil) {
			<-c.served
		}
		if err != nil {
			return
		}
	}
}

// takesInput reports whether to read on: the session takes input, or the connection is over, which the next read
// reports. With the end of the input, it reports whether the commands before the end are executed.
func (c *blockingConn) takesInput(ended bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over || c.s.TakesInput() && !(ended && c.s.HoldsInput())
}

func (c *blockingConn) turn(in []byte) (over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = c.over || c.s.ServeInput(in); c.over {
		_ = c.stream.SetReadDeadline(time.Now()) // the reader may be waiting
	}
	return c.over
}

// wake lets the session continue soon. It is called under locks, and by many goroutines at a time.
func (c *blockingConn) wake() {
	if c.writing.Load() && c.s.Public().IsKilled() {
		_ = c.stream.SetWriteDeadline(time.Now()) // its client may not be reading
	}
	if !c.woken.Swap(true) {
		go func() {
			c.woken.Store(false)
			c.turn(nil)
			c.readOn()
		}()
	}
}

// readOn has the reader look again whether the session takes input.
func (c *blockingConn) readOn() {
	select {
	case c.served <- struct{}{}:
	default:
	}
}

// Write implements conn.ReplyConn.
func (c *blockingConn) Write(b []byte) (int, error) {
	defer c.s.Public().EndWrite(b)
	if c.s.Public().BeginWrite(b) {
		return 0, conn.ErrClientMemory
	}
	_ = c.stream.SetWriteDeadline(time.Now().Add(c.env.Settings.Load().OutputTimeout))
	c.writing.Store(true)
	defer c.writing.Store(false)
	n, err := c.stream.Write(b)
	if err != nil {
		c.cut.Store(true)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.s.Public().IsKilled() {
		c.s.Public().DropSlowReader(len(b) - n)
	}
	return n, err
}

// WriteFinal implements conn.ReplyConn; the stream ends when the reader has ended.
func (c *blockingConn) WriteFinal(b []byte) (int, error) { return c.Write(b) }

// Unsent implements conn.ReplyConn: Write returns once the kernel has the bytes.
func (c *blockingConn) Unsent() int { return 0 }

// end forgets the session and closes the connection: by finish, unless a write failed.
func (c *blockingConn) end(finish func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.s.Unregister()
	if c.cut.Load() {
		c.abort()
		return
	}
	finish()
}

// abort closes the connection at once. Over TLS it sends no alert, which could block.
func (c *blockingConn) abort() {
	under := c.stream
	if secure, ok := under.(*tls.Conn); ok {
		under = secure.NetConn()
	}
	_ = under.Close()
}
