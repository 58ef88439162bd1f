package servertest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Proxy forwards bytes between a client and a server, and can simulate failures of the network.
type Proxy struct {
	Address  string
	target   string
	listener net.Listener

	mu    sync.Mutex
	mode  mode
	drip  time.Duration
	conns map[net.Conn]bool
	moved *sync.Cond // the mode has changed, or the proxy was closed
	shut  bool
}

type mode int

const (
	passing   mode = iota
	swallowed      // both ways
	deaf           // replies only
	dripping       // replies come byte by byte
	refusing       // connections are closed
	losing         // bytes are lost, and connections that lost some stay dead
)

// NewProxy listens on a free loopback port and passes everything on to the target.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Address: listener.Addr().String(), target: target, listener: listener, conns: map[net.Conn]bool{}}
	p.moved = sync.NewCond(&p.mu)
	go p.accept()
	return p, nil
}

// Partition lets no byte through in either direction. Connections stay open, and new ones are accepted, so neither side
// notices.
func (p *Proxy) Partition() { p.set(swallowed) }

// HoldReplies lets requests through and keeps the replies.
func (p *Proxy) HoldReplies() { p.set(deaf) }

// Drip lets replies through one byte at a time, with pauses between them.
func (p *Proxy) Drip(pause time.Duration) {
	p.mu.Lock()
	p.drip = pause
	p.mu.Unlock()
	p.set(dripping)
}

// Refuse closes every connection, and new ones as soon as they are accepted.
func (p *Proxy) Refuse() {
	p.set(refusing)
	p.Cut()
}

// Lose drops every byte. A connection that lost some stays open and dead, also after Heal.
func (p *Proxy) Lose() { p.set(losing) }

// Heal lets everything through again, first the bytes held back.
func (p *Proxy) Heal() { p.set(passing) }

// Cut closes every connection. Bytes held back are lost.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.moved.Broadcast()
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	p.mode = m
	p.mu.Unlock()
	p.moved.Broadcast()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.current() == refusing {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		dead := &atomic.Bool{}
		go p.copy(server, client, dead, swallowed)
		go p.copy(&drip{client, p}, server, dead, swallowed, deaf)
	}
}

// copy forwards bytes, except in the modes that hold them back.
func (p *Proxy) copy(to io.WriteCloser, from net.Conn, dead *atomic.Bool, held ...mode) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if p.current() == losing {
			dead.Store(true)
		}
		if n > 0 && !dead.Load() && p.await(held) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drip writes byte by byte while the proxy does so.
type drip struct {
	net.Conn
	proxy *Proxy
}

func (d *drip) Write(data []byte) (n int, err error) {
	for n < len(data) && err == nil && d.proxy.current() == dripping {
		_, err = d.Conn.Write(data[n : n+1])
		n++
		time.Sleep(d.proxy.pause())
	}
	if err == nil {
		_, err = d.Conn.Write(data[n:])
	}
	return len(data), err
}

func (p *Proxy) current() mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

func (p *Proxy) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drip
}

// await waits until bytes may pass. It returns false when the proxy has been closed.
func (p *Proxy) await(held []mode) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.shut {
		free := true
		for _, m := range held {
			free = free && p.mode != m
		}
		if free {
			return true
		}
		p.moved.Wait()
	}
	return false
}
