//go:build linux && !goroutines

package netio

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/conn/share"
	"golang.org/x/sys/unix"
)

// epollLoop is an event loop over epoll, locked to a thread. A *turn* serves all connections that are ready, then those
// that were woken, and then sends their replies. Its goroutine alone touches the fields that are not under the mutex.
type epollLoop struct {
	env     *conn.Env
	epoll   int
	eventfd int                // wakes the loop out of its wait
	conns   map[int]*epollConn // by file descriptor
	input   [conn.MaxInputBytes]byte
	writes  pendingWrites
	failed  []*epollConn // nothing could be sent; to be closed at the end of the turn
	ended   chan struct{}

	passes  share.Passes
	wakeful wakeful
	waiting atomic.Bool // it waits in epoll, or is about to: work for it needs the eventfd

	mu     sync.Mutex
	tasks  []func()
	wakes  []*epollConn // to go on without input, most often because a batch was decided: an entry of a cluster's log decides for many
	spare  []*epollConn // the list of the turn before
	closed bool         // no more tasks
}

// maxEvents is the most connections that one call to epoll reports. Others that are ready are in the next turn.
const maxEvents = 512

func startEventLoop(env *conn.Env, lag *LoopLag, keepsProcessor bool) (eventLoop, error) {
	l := &epollLoop{env: env, wakeful: wakeful{allowed: keepsProcessor}, conns: make(map[int]*epollConn), ended: make(chan struct{})}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if l.eventfd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err == nil {
		err = l.watch(unix.EPOLL_CTL_ADD, l.eventfd, unix.EPOLLIN|unix.EPOLLET) // by edge: it need not be read
	}
	if err != nil {
		_ = unix.Close(l.epoll)
		return nil, os.NewSyscallError("eventfd", err)
	}
	lag.add(l)
	go l.run()
	return l, nil
}

// watch sets the events of a file descriptor that the loop waits for.
func (l *epollLoop) watch(operation, fd int, events uint32) error {
	return unix.EpollCtl(l.epoll, operation, fd, &unix.EpollEvent{Fd: int32(fd), Events: events})
}

func (l *epollLoop) run() {
	// Otherwise the goroutine moved between three threads, each of which the kernel had to wake (decision 0041).
	runtime.LockOSThread()
	defer close(l.ended)
	defer runtime.UnlockOSThread() // or its thread ends, and Linux kills the children that the thread has started (testprocess)
	events := make([]unix.EpollEvent, maxEvents)
	for over := false; !over; {
		n := l.wait(events)
		l.passes.Begin()
		for _, event := range events[:n] {
			if c := l.conns[int(event.Fd)]; c != nil { // otherwise it is the eventfd, or was closed in this turn
				c.happen(event.Events)
			}
		}
		over = l.runTasks()
		l.writes.flush()
		l.closeFailed()
	}
	for _, c := range l.conns {
		c.close()
	}
	_, _ = unix.Close(l.eventfd), unix.Close(l.epoll)
}

// wait returns the number of events, waiting for one unless there is other work.
func (l *epollLoop) wait(events []unix.EpollEvent) int {
	defer l.waiting.Store(false)
	l.waiting.Store(true) // before looking: who gives work after it wakes the loop
	if l.hasWork() {
		return epollRaw(l.epoll, events, 0)
	}
	return l.wakeful.wait(l.epoll, events)
}

func (l *epollLoop) hasWork() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tasks)+len(l.wakes) > 0 || l.closed || l.passes.Waits()
}

// runTasks runs the tasks and the woken sessions, without later ones: these have their turn after the
// connections that are ready by then. It reports that the loop is to end.
func (l *epollLoop) runTasks() (over bool) {
	l.mu.Lock()
	tasks, wakes := l.tasks, l.wakes
	l.tasks, l.wakes = nil, l.spare[:0]
	over = l.closed
	l.mu.Unlock()
	for _, task := range tasks {
		task()
	}
	for _, c := range wakes {
		c.woken.Store(false) // what happens from now on is for another turn
		c.serve(nil)
	}
	clear(wakes)
	l.spare = wakes
	return over
}

// execute implements taskLoop. Any goroutine may call it.
func (l *epollLoop) execute(task func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.tasks = append(l.tasks, task)
	l.interrupt()
	return true
}

// interrupt ends the loop's wait. The work that it is to find is in the lists.
func (l *epollLoop) interrupt() {
	if l.waiting.CompareAndSwap(true, false) {
		_, _ = unix.Write(l.eventfd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only if there are 2^64 - 1 wake-ups
	}
}

// assign implements eventLoop. The loop has its own file descriptor, which the runtime's poller does not know.
func (l *epollLoop) assign(client net.Conn, from origin, done func(error)) {
	fd, err := duplicate(client)
	client.Close()
	if err != nil {
		done(err)
		return
	}
	if !l.execute(func() { done(l.open(fd, from)) }) {
		_ = unix.Close(fd)
		done(net.ErrClosed)
	}
}

// duplicate returns another file descriptor of a connection.
func duplicate(client net.Conn) (fd int, err error) {
	of, ok := client.(interface {
		SyscallConn() (syscall.RawConn, error)
	})
	if !ok {
		return 0, fmt.Errorf("a connection of type %T has no file descriptor", client)
	}
	raw, err := of.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(from uintptr) { fd, failed = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) })
		err = cmp.Or(err, failed)
	}
	return fd, err
}

// open begins to serve a connection.
func (l *epollLoop) open(fd int, from origin) error {
	c := &epollConn{loop: l, fd: fd}
	s, err := openSession(l.env, from, c, c.wake, nil)
	if err != nil {
		_, _ = sendNow(fd, refusal(err))
		return unix.Close(fd)
	}
	s.JoinLoop(&l.passes, func() { c.serve(nil) })
	c.sendsMore = s.SendsMore
	c.session, c.onClose = s, func() { s.Unregister() }
	return l.add(c)
}

func (l *epollLoop) add(c *epollConn) error {
	l.conns[c.fd] = c
	err := l.watch(unix.EPOLL_CTL_ADD, c.fd, readable)
	if err != nil {
		c.close()
	}
	return os.NewSyscallError("epoll_ctl", err)
}

// closeFailed closes connections to which nothing could be sent. They were in use when that was found.
func (l *epollLoop) closeFailed() {
	for _, c := range l.failed {
		c.close()
	}
	clear(l.failed)
	l.failed = l.failed[:0]
}

// stop implements eventLoop.
func (l *epollLoop) stop() error {
	l.mu.Lock()
	l.closed = true
	l.interrupt()
	l.mu.Unlock()
	<-l.ended
	return nil
}
