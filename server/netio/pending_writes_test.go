package netio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/panjf2000/gnet/v2"
)

// fakeLoop is an event loop that records the bytes written to its connections.
type fakeLoop struct {
	gnet.EventLoop
	closing bool
	tasks   []gnet.Runnable
	written []string
}

type fakeConn struct {
	gnet.Conn
	loop   *fakeLoop
	name   string
	broken func()
}

func (f *fakeLoop) Execute(_ context.Context, task gnet.Runnable) error {
	if f.closing {
		return errors.New("in shutdown")
	}
	f.tasks = append(f.tasks, task)
	return nil
}

func (f *fakeConn) Write(b []byte) (int, error) {
	if f.broken != nil {
		f.broken() // as gnet calls OnClose
		return 0, errors.New("broken")
	}
	f.loop.written = append(f.loop.written, f.name+" "+string(b))
	return len(b), nil
}

// endTurn runs the tasks of the loop, and returns the bytes written since the last call.
func (f *fakeLoop) endTurn(t *testing.T) string {
	for len(f.tasks) > 0 {
		task := f.tasks[0]
		f.tasks = f.tasks[1:]
		if err := task.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	out := strings.Join(f.written, ", ")
	f.written = nil
	return out
}

func newFakeLoop(count int) (loop *fakeLoop, writes *pendingWrites, conns []*eventLoopConn) {
	loop, writes = &fakeLoop{}, &pendingWrites{}
	wakes := &pendingWakes{}
	for i := range count {
		conns = append(conns, &eventLoopConn{Conn: &fakeConn{loop: loop, name: fmt.Sprint("c", i)}, loop: loop, writes: writes, wakes: wakes})
	}
	return loop, writes, conns
}

func write(t *testing.T, l *eventLoopConn, text string) {
	t.Helper()
	if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

func (f *fakeLoop) expect(t *testing.T, when, want string) {
	t.Helper()
	got := strings.Join(f.written, ", ")
	if f.written = nil; got != want {
		t.Fatalf("%s: %q was written, want %q", when, got, want)
	}
}

func TestRepliesWaitForTheEndOfTheTurn(t *testing.T) {
	loop, _, conns := newFakeLoop(fewTogether)
	for turn := range 3 {
		var want []string
		for i, l := range conns {
			text := fmt.Sprintf("%d.%d", turn, i)
			write(t, l, text)
			want = append(want, fmt.Sprintf("c%d %s", i, text))
		}
		loop.expect(t, "before the end of the turn", "")
		if len(loop.tasks) != 1 {
			t.Fatalf("%d tasks", len(loop.tasks))
		}
		if got := loop.endTurn(t); got != strings.Join(want, ", ") {
			t.Fatalf("turn %d: %s", turn, got)
		}
	}
}

// A connection's second reply, a large one and those beyond the bound keep the order.
func TestRepliesThatDoNotWait(t *testing.T) {
	loop, _, conns := newFakeLoop(3)
	write(t, conns[0], "a")
	write(t, conns[1], "b")
	write(t, conns[0], "c")
	loop.expect(t, "second reply", "c0 a, c1 b")
	large := strings.Repeat("x", maxPendingReply+1)
	write(t, conns[2], large)
	loop.expect(t, "large reply", "c0 c, c2 "+large)

	most := strings.Repeat("y", maxPendingReply)
	loop, writes, conns := newFakeLoop(maxPendingBytes/maxPendingReply + 1)
	for _, l := range conns {
		write(t, l, most)
	}
	if len(loop.written) != len(conns)-1 || len(writes.bytes) != maxPendingReply {
		t.Errorf("%d of %d written, %d bytes pending", len(loop.written), len(conns), len(writes.bytes))
	}

	loop, _, conns = newFakeLoop(1)
	loop.closing = true
	write(t, conns[0], "bye")
	loop.expect(t, "a loop that ends", "c0 bye")
}

// A loop that serves few connections at a time writes at once, and looks again after some writes.
func TestFewRepliesDoNotWait(t *testing.T) {
	loop, _, conns := newFakeLoop(1)
	waited := 0
	for range 10 * (writesAtOnce + 1) {
		write(t, conns[0], "x")
		if len(loop.written) == 0 {
			waited++
		}
		if got := loop.endTurn(t); got != "c0 x" {
			t.Fatalf("%q", got)
		}
	}
	if waited != 10 {
		t.Errorf("%d replies waited", waited)
	}
}

func TestPendingRepliesOfConnectionsThatClose(t *testing.T) {
	loop, _, conns := newFakeLoop(3)
	write(t, conns[0], "a")
	write(t, conns[1], "b")
	conns[1].end()
	loop.expect(t, "closed by the server", "c0 a, c1 b")
	conns[1].end()
	loop.expect(t, "closed again", "")

	conns[1].Conn.(*fakeConn).broken = conns[1].end
	for _, l := range conns {
		write(t, l, "d")
	}
	if got := loop.endTurn(t); got != "c0 d, c2 d" {
		t.Errorf("after an error: %s", got)
	}
}
