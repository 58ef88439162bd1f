package servertest

import (
	"net"
	"sync"
)

// A Proxy forwards bytes between a client and a server, and can simulate failures of the network.
type Proxy struct {
	Address  string
	target   string
	listener net.Listener

	mu    sync.Mutex
	mode  mode
	conns map[net.Conn]bool
	moved *sync.Cond // the mode has changed, or the proxy was closed
	shut  bool
}

type mode int

const (
	passing   mode = iota
	swallowed      // both ways
	deaf           // replies only
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
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		go p.copy(server, client, swallowed)
		go p.copy(client, server, swallowed, deaf)
	}
}

// copy forwards bytes, except in the modes that hold them back.
func (p *Proxy) copy(to, from net.Conn, held ...mode) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.await(held) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
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
