package main

import (
	"net"
	"sync"
	"time"
)

// A slowLink stands before a node's port for the other nodes. Every message arrives later by delay, in both directions.
type slowLink struct {
	listener net.Listener
	to       string
	delay    time.Duration
	mu       sync.Mutex
	open     []net.Conn
	closed   bool
}

func startSlowLink(to string, delay time.Duration) (*slowLink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &slowLink{listener: listener, to: to, delay: delay}
	go l.accept()
	return l, nil
}

func (l *slowLink) address() string { return l.listener.Addr().String() }

func (l *slowLink) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to)
		if err != nil { // the node is not there yet
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		l.open = append(l.open, from, to)
		if l.closed {
			l.closeAll()
		}
		l.mu.Unlock()
		go l.carry(from, to)
		go l.carry(to, from)
	}
}

func (l *slowLink) stop() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.closeAll()
}

func (l *slowLink) closeAll() {
	for _, conn := range l.open {
		_ = conn.Close()
	}
}

// carry moves bytes until one of the connections ends, and then ends both.
func (l *slowLink) carry(from, to net.Conn) {
	type message struct {
		bytes []byte
		due   time.Time
	}
	onTheWay := make(chan message, 1024)
	go func() {
		defer to.Close()
		for m := range onTheWay {
			time.Sleep(time.Until(m.due))
			if _, err := to.Write(m.bytes); err != nil {
				_ = from.Close() // which ends the reader below
			}
		}
	}()
	defer close(onTheWay)
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		onTheWay <- message{b[:n], time.Now().Add(l.delay)}
	}
}
