package peers

import (
	"context"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/transport"
)

// nodeStatus is the status of a node as a member of group 0, and of the groups of keys.
type nodeStatus struct {
	group.MemberStatus
	keyGroups map[uint32]group.MemberStatus
	asked     time.Time
}

// in is the status as a member of a group.
func (n nodeStatus) in(number uint32) group.MemberStatus {
	if number == 0 {
		return n.MemberStatus
	}
	return n.keyGroups[number]
}

// fetches asks each node once for all groups that want its status at the same time.
type fetches struct {
	ask func(ctx context.Context, address string) (nodeStatus, error)

	mu   sync.Mutex
	next map[string]*fetch // by address: begins when the fetch under way has ended
	busy map[string]bool   // by address: a fetch is under way
}

type fetch struct {
	done   chan struct{}
	status nodeStatus
	err    error
}

func newFetches(ask func(ctx context.Context, address string) (nodeStatus, error)) *fetches {
	return &fetches{ask: ask, next: map[string]*fetch{}, busy: map[string]bool{}}
}

// fetch returns a status that was asked for after the call.
func (f *fetches) fetch(ctx context.Context, address string) (nodeStatus, error) {
	f.mu.Lock()
	next := f.next[address]
	if next == nil {
		next = &fetch{done: make(chan struct{})}
		f.next[address] = next
		if !f.busy[address] {
			f.busy[address] = true
			go f.run(address)
		}
	}
	f.mu.Unlock()
	select {
	case <-next.done:
		return next.status, next.err
	case <-ctx.Done():
		return nodeStatus{}, context.Cause(ctx)
	}
}

func (f *fetches) run(address string) {
	for next := f.take(address); next != nil; next = f.take(address) {
		// not the context of a caller, because others wait for the status too
		ctx, cancel := context.WithTimeout(context.Background(), transport.DialTimeout)
		next.status, next.err = f.ask(ctx, address)
		cancel()
		close(next.done)
	}
}

// take takes the next fetch of a node; nil if there is none.
func (f *fetches) take(address string) *fetch {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.next[address]
	if delete(f.next, address); next == nil {
		delete(f.busy, address)
	}
	return next
}
