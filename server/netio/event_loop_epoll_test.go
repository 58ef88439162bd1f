//go:build linux && !goroutines

package netio

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/internal/testprocess"
	"github.com/stintdb/stint/internal/testwait"
	"golang.org/x/sys/unix"
)

// fakeSession is a session that does what a test says.
type fakeSession struct {
	serve func(in []byte) (over bool)
}

func (f fakeSession) ServeInput(in []byte) bool { return f.serve(in) }

func (f fakeSession) TakesInput() bool { return true }

func (f fakeSession) HoldsInput() bool { return false }

// peer is the other end of a connection.
type peer struct {
	*os.File
	fd int
}

// startLoop returns a running loop without sessions.
func startLoop(t *testing.T) *epollLoop {
	loop, err := startEventLoop(nil, &LoopLag{}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = loop.stop() })
	return loop.(*epollLoop)
}

// connect has the loop serve a new connection, and returns the client's side. serve is called on the loop.
func (l *epollLoop) connect(t *testing.T, serve func(c *epollConn, in []byte) bool) (c *epollConn, client *peer, closed *atomic.Int32) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	client = &peer{os.NewFile(uintptr(pair[1]), "client"), pair[1]}
	t.Cleanup(func() { client.Close() })
	closed = new(atomic.Int32)
	c = &epollConn{loop: l, fd: pair[0], onClose: func() { closed.Add(1) }}
	c.session, c.sendsMore = fakeSession{func(in []byte) bool { return serve(c, in) }}, func(int) bool { return true }
	l.do(func() { err = l.add(c) })
	if err != nil {
		t.Fatal(err)
	}
	return c, client, closed
}

// do runs a function on the loop.
func (l *epollLoop) do(f func()) {
	done := make(chan struct{})
	if l.execute(func() { f(); close(done) }) {
		<-done
	}
}

func echo(c *epollConn, in []byte) bool {
	_, err := c.Write(in)
	return err != nil
}

func expect(t *testing.T, from *peer, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(from, got); err != nil || string(got) != want {
		t.Fatalf("%d bytes were read, %.40q, want %d, %.40q: %v", n, got[:n], len(want), want, err)
	}
}

func TestRepliesKeepTheirOrder(t *testing.T) {
	large := strings.Repeat("x", maxPendingReply+1)
	most := strings.Repeat("y", maxPendingReply)
	for _, replies := range [][]string{{"a"}, {"a", "b"}, {"a", large, "b"}, {large, "a"}, append([]string{"a"}, strings.Split(strings.Repeat(most+" ", 2*maxPendingBytes/maxPendingReply), " ")...)} {
		loop := startLoop(t)
		_, client, _ := loop.connect(t, func(c *epollConn, in []byte) bool {
			for _, reply := range replies {
				if n, err := c.Write([]byte(reply)); n != len(reply) || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
			}
			return false
		})
		if _, err := client.WriteString("go"); err != nil {
			t.Fatal(err)
		}
		expect(t, client, strings.Join(replies, ""))
	}
}

// Replies leave when the loop has served all that were ready, and in the order in which they were given.
func TestRepliesWaitForTheEndOfTheTurn(t *testing.T) {
	loop := startLoop(t)
	a, toA, _ := loop.connect(t, echo)
	b, toB, _ := loop.connect(t, echo)
	loop.do(func() {
		_, _ = a.Write([]byte("a"))
		_, _ = b.Write([]byte("b"))
		if _, err := receiveNow(toA.fd, make([]byte, 1)); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("a reply left before the end of the turn: %v", err)
		}
	})
	expect(t, toA, "a")
	expect(t, toB, "b")
	loop.do(func() {
		most := make([]byte, maxPendingReply)
		for range maxPendingBytes/maxPendingReply + 1 {
			_, _ = (&epollConn{loop: loop, closed: true}).Write(most)
		}
		if len(loop.writes.bytes) > maxPendingBytes {
			t.Errorf("%d bytes wait", len(loop.writes.bytes))
		}
	})
}

// What the kernel does not take is kept, in order, and sent when the client reads.
func TestSlowReader(t *testing.T) {
	loop := startLoop(t)
	var replies [][]byte
	for i := range 64 {
		replies = append(replies, bytes.Repeat([]byte{byte('a' + i%26)}, 20_000+i))
	}
	want := string(bytes.Join(replies, nil))
	c, client, closed := loop.connect(t, func(c *epollConn, in []byte) bool {
		for _, reply := range replies {
			if len(in) > 0 { // otherwise it is woken because its client has read
				_, _ = c.Write(reply)
			}
		}
		return false
	})
	_, _ = client.WriteString("go")
	testwait.Until(t, "bytes are kept", func() (kept bool) {
		loop.do(func() { kept = c.Unsent() > 0 })
		return kept
	})
	expect(t, client, want)
	loop.do(func() {
		if c.Unsent() != 0 || c.unsent.chunks != nil || c.failed {
			t.Errorf("%d bytes unsent, in %d chunks, failed %t", c.Unsent(), len(c.unsent.chunks), c.failed)
		}
	})
	_, _ = client.WriteString("again")
	expect(t, client, want)
	if closed.Load() != 0 {
		t.Error("it was closed")
	}
}

// What waits for a client is sent in parts, and all of it in the end. In a pass, no more is sent than the share of its
// session's owner allows, but always a little.
func TestSendsOfAPass(t *testing.T) {
	loop := startLoop(t)
	c, client, _ := loop.connect(t, echo)
	reply := bytes.Repeat([]byte("0123456789"), 200_000)
	var left, sends int // of the pass that is under way
	c.session = fakeSession{func([]byte) bool { return false }}
	c.sendsMore = func(sent int) bool {
		if sent > 0 {
			sends++
		}
		left--
		return left > 0
	}
	read := 0
	room := make([]byte, 1<<20)
	empty := func() { // the client's buffer
		for {
			n, err := receiveNow(client.fd, room)
			if n <= 0 || err != nil {
				return
			}
			read += n
		}
	}
	loop.do(func() {
		c.send(reply)
		for want := range 3 {
			empty()
			before := c.unsent.bytes
			if left, sends = want+1, 0; want == 0 {
				left = 0
			}
			most := max(want*maxSentBytes, leastSentBytes)
			if c.happen(writable); sends > max(want, 1) || before-c.unsent.bytes > most || c.unsent.bytes == before {
				t.Errorf("%d sends of %d bytes in a pass, want %d of %d at most", sends, before-c.unsent.bytes, max(want, 1), most)
			}
		}
	})
	for passes := 0; passes < 1000 && read < len(reply); passes++ {
		loop.do(func() {
			left = 2
			empty()
		})
	}
	if loop.do(empty); read != len(reply) || c.Unsent() != 0 {
		t.Errorf("%d bytes were read, and %d wait, want %d and 0", read, c.Unsent(), len(reply))
	}
}

// A client that reads gets what waits for it, although other sessions of the owner use the share up in each pass.
func TestSendsBeyondAShare(t *testing.T) {
	loop := startLoop(t)
	c, client, _ := loop.connect(t, echo)
	c.session = fakeSession{func([]byte) bool { return false }}
	c.sendsMore = func(int) bool { return false }
	reply := bytes.Repeat([]byte("0123456789"), 100_000)
	read, room := 0, make([]byte, 1<<20)
	loop.do(func() { c.send(reply) })
	for passes := 0; passes < 1000 && read < len(reply); passes++ {
		loop.do(func() {
			n, _ := receiveNow(client.fd, room)
			read += max(0, n)
			before := c.unsent.bytes
			if c.happen(writable); before-c.unsent.bytes > leastSentBytes {
				t.Errorf("%d bytes are sent in a pass, want at most %d", before-c.unsent.bytes, leastSentBytes)
			}
		})
	}
	if read != len(reply) {
		t.Errorf("%d bytes of %d were read", read, len(reply))
	}
}

// Unsent bytes take little more memory than they have, however they came.
func TestRoomOfUnsentBytes(t *testing.T) {
	var u unsent
	var want, got []byte
	random := rand.New(rand.NewPCG(1, 0))
	for i := range 5000 {
		reply := bytes.Repeat([]byte{byte(i)}, 1+random.IntN(1<<random.IntN(17)))
		u.add(reply)
		want = append(want, reply...)
		if random.IntN(3) > 0 {
			n := random.IntN(len(u.first()) + 1)
			got = append(got, u.first()[:n]...)
			u.drop(n)
		}
		room := 0
		for _, chunk := range u.chunks {
			room += cap(chunk)
		}
		if u.bytes != len(want)-len(got) || room > u.bytes+unsentChunk {
			t.Fatalf("%d bytes, want %d, have room for %d", u.bytes, len(want)-len(got), room)
		}
	}
	for u.bytes > 0 {
		got = append(got, u.first()...)
		u.drop(len(u.first()))
	}
	if !bytes.Equal(got, want) || u.chunks != nil {
		t.Errorf("%d of %d bytes came out, in the same order: %t", len(got), len(want), bytes.Equal(got, want))
	}
}

func TestClose(t *testing.T) {
	for name, end := range map[string]func(c *epollConn, client *peer){
		"by the client":  func(_ *epollConn, client *peer) { client.Close() },
		"by its session": func(_ *epollConn, client *peer) { _, _ = client.WriteString("bye") },
		"by an error of a reply": func(c *epollConn, client *peer) {
			c.loop.do(func() { _ = unix.Shutdown(c.fd, unix.SHUT_WR); _, _ = c.Write([]byte("x")) })
		},
		"by the end of the loop": func(c *epollConn, _ *peer) { _ = c.loop.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			loop := startLoop(t)
			c, client, closed := loop.connect(t, func(c *epollConn, in []byte) bool {
				_, _ = c.Write([]byte("last words"))
				return true
			})
			end(c, client)
			testwait.Until(t, "it is closed", func() bool { return closed.Load() == 1 })
			c.wake()
			loop.do(func() {
				if len(loop.conns) != 0 || len(loop.failed) != 0 {
					t.Errorf("left: %v, %v", loop.conns, loop.failed)
				}
			})
			if closed.Load() != 1 {
				t.Errorf("it was closed %d times", closed.Load())
			}
			if name == "by its session" {
				expect(t, client, "last words")
			}
		})
	}
}

// A connection that was closed in a turn is not served in it, also if another has its file descriptor by then.
func TestClosedInTheSameTurn(t *testing.T) {
	loop := startLoop(t)
	var first, second *epollConn
	served := 0
	serve := func(c *epollConn, _ []byte) bool {
		served++
		for _, other := range []*epollConn{first, second} {
			if other != c {
				other.close()
			}
		}
		return false
	}
	first, toFirst, _ := loop.connect(t, serve)
	second, toSecond, _ := loop.connect(t, serve)
	loop.do(func() { // both are ready in the next turn
		_, _ = unix.Write(toFirst.fd, []byte("x"))
		_, _ = unix.Write(toSecond.fd, []byte("x"))
	})
	testwait.Until(t, "one is served", func() (done bool) {
		loop.do(func() { done = served > 0 })
		return done
	})
	loop.do(func() {})
	loop.do(func() {
		if served != 1 {
			t.Errorf("%d were served", served)
		}
	})
}

// No wake-up is lost, whether the loop works, waits, or is about to.
func TestWakes(t *testing.T) {
	loop := startLoop(t)
	turns := make(chan struct{})
	c, _, _ := loop.connect(t, func(*epollConn, []byte) bool {
		turns <- struct{}{}
		return false
	})
	for range 20_000 {
		c.wake()
		<-turns
	}
}

// A session that wakes itself has its turn after the others that are ready, once however often it does.
func TestWakeWithinATurn(t *testing.T) {
	loop := startLoop(t)
	var order []string
	var lazy *epollConn
	lazy, _, _ = loop.connect(t, func(c *epollConn, in []byte) bool {
		if order = append(order, "lazy"); len(order) == 1 {
			c.wake()
			c.wake()
		}
		return false
	})
	_, client, _ := loop.connect(t, func(*epollConn, []byte) bool {
		order = append(order, "ready")
		return false
	})
	loop.do(func() {
		_, _ = unix.Write(client.fd, []byte("x"))
		lazy.serve(nil)
	})
	for range 3 {
		loop.do(func() {})
	}
	loop.do(func() {
		if got := strings.Join(order, " "); got != "lazy ready lazy" {
			t.Errorf("order of the turns: %s", got)
		}
	})
}

func TestStopAtOnce(t *testing.T) {
	for range 200 {
		_ = startLoop(t).stop()
	}
}

// A loop that ends leaves its thread: otherwise the processes that this thread has started before would be killed.
func TestChildrenOutliveTheLoop(t *testing.T) {
	var children [20]*exec.Cmd
	var inputs [len(children)]io.Closer
	for i := range children {
		loop := startLoop(t)
		children[i] = testprocess.Command(t.Context(), "cat")
		inputs[i], _ = children[i].StdinPipe()
		var err error
		loop.do(func() { err = children[i].Start() })
		if err != nil {
			t.Fatal(err)
		}
		_ = loop.stop()
	}
	for i, child := range children {
		inputs[i].Close()
		if err := child.Wait(); err != nil {
			t.Errorf("child %d: %v", i, err)
		}
	}
}

func TestTasksOfALoopThatHasEnded(t *testing.T) {
	loop := startLoop(t)
	ran := false
	loop.do(func() { ran = true })
	if _ = loop.stop(); !ran || loop.execute(func() {}) {
		t.Error("a task before the end did not run, or one after it was taken")
	}
	var told error
	a, b := net.Pipe()
	defer b.Close()
	loop.assign(a, origin{}, func(err error) { told = err })
	if told == nil || !strings.Contains(told.Error(), "no file descriptor") {
		t.Errorf("a connection without a file descriptor: %v", told)
	}
}
