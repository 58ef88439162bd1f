// Package unauthenticated bounds the resources of clients that have not authenticated: their connections, and their
// lines in the log.
package unauthenticated

import (
	"container/list"
	"sync"
)

// Conns is a bounded set of connections that have not authenticated. When it is full, a new connection takes the place
// of an idle one. Every address may hold a sixteenth of the bound: the evicted connection is the longest idle of the
// address with the most connections or, if none has more than that share, the longest idle of all. The zero value is
// ready. It is safe for concurrent use.
type Conns[C comparable] struct {
	mu        sync.Mutex
	idle      list.List // of *conn[C], the longest idle first
	byConn    map[C]*conn[C]
	byAddress map[string]*list.List // of *conn[C], in the same order
	share     int
	over      map[string]*list.List // of byAddress, those with more than the share
}

type conn[C comparable] struct {
	conn        C
	address     string
	inAll, inOf *list.Element
}

// sharesOfAll is the number of addresses that can hold their whole share.
const sharesOfAll = 16

// Add adds a connection. With more than most, which is at least 1, it evicts another one, which the caller must close.
func (u *Conns[C]) Add(c C, address string, most int) (evicted C, isEvicted bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byConn == nil {
		u.byConn, u.byAddress = map[C]*conn[C]{}, map[string]*list.List{}
	}
	u.setShare(max(1, most/sharesOfAll))
	if len(u.byConn) >= most {
		evicted, isEvicted = u.evict()
	}
	of := u.byAddress[address]
	if of == nil {
		of = list.New()
		u.byAddress[address] = of
	}
	n := &conn[C]{conn: c, address: address}
	n.inAll, n.inOf = u.idle.PushBack(n), of.PushBack(n)
	u.byConn[c] = n
	u.weigh(address)
	return evicted, isEvicted
}

// Evict removes the connection that a new one would replace.
func (u *Conns[C]) Evict() (evicted C, isEvicted bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.evict()
}

func (u *Conns[C]) evict() (evicted C, isEvicted bool) {
	from := &u.idle
	for _, of := range u.over { // 16 at most
		if from == &u.idle || of.Len() > from.Len() {
			from = of
		}
	}
	first := from.Front()
	if first == nil {
		return evicted, false
	}
	n := first.Value.(*conn[C])
	u.remove(n)
	return n.conn, true
}

// Touch records that a connection is not idle.
func (u *Conns[C]) Touch(c C) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.byConn[c]; n != nil {
		u.idle.MoveToBack(n.inAll)
		u.byAddress[n.address].MoveToBack(n.inOf)
	}
}

// Remove removes a connection that has authenticated or was closed. It returns false if it was not in the set.
func (u *Conns[C]) Remove(c C) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.byConn[c]
	if n != nil {
		u.remove(n)
	}
	return n != nil
}

// Len is the number of connections.
func (u *Conns[C]) Len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.byConn)
}

func (u *Conns[C]) remove(n *conn[C]) {
	delete(u.byConn, n.conn)
	u.idle.Remove(n.inAll)
	of := u.byAddress[n.address]
	if of.Remove(n.inOf); of.Len() == 0 {
		delete(u.byAddress, n.address)
	}
	u.weigh(n.address)
}

// weigh records whether an address has more than its share.
func (u *Conns[C]) weigh(address string) {
	if of := u.byAddress[address]; of != nil && of.Len() > u.share {
		u.over[address] = of
	} else {
		delete(u.over, address)
	}
}

// setShare weighs all addresses again if the share has changed: the bound is a setting.
func (u *Conns[C]) setShare(share int) {
	if share == u.share {
		return
	}
	u.share, u.over = share, map[string]*list.List{}
	for address := range u.byAddress {
		u.weigh(address)
	}
}
