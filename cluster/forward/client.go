// Package forward takes calls from a follower to the leader, and the answers back: [Client] is the follower's end, and
// [Server] the leader's.
package forward

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/engine"
)

const (
	// maxWaitingBytes bounds the calls that wait for a leader, in bytes; further calls are refused.
	maxWaitingBytes = 64 << 20
	// fullFrameBytes is where a frame is sent and another begun.
	fullFrameBytes = 256 << 10
	// connTimeout bounds the silence on a connection to the leader.
	connTimeout = 2 * time.Second
	// connKeepalive is how often the leader sends its time over a connection without answers.
	connKeepalive = 100 * time.Millisecond
	// maxResends bounds how often a read-only call is sent again after its connection broke: the call itself may be what
	// breaks it.
	maxResends = 4
	// redialDelay is the pause before the same leader is dialed again; another one is dialed at once.
	redialDelay = 20 * time.Millisecond
	// idleLook is the time between two looks for a leader while no call waits for one.
	idleLook = 500 * time.Millisecond
)

// Client takes calls to the leader, many in a frame, and the answers back.
type Client struct {
	Dial          func(ctx context.Context, address string) (net.Conn, error)
	Leader        func() (address string)         // "" while none is known, or while it is this node
	LeaderChanged *notifier.Notifier              // broadcasts when another node leads, or none
	Decide        func(*call.Call) bool           // takes a call if this node has become leader
	Fail          func(*call.Call, engine.Status) // answers a call with an error
	ObserveTime   func(nanos int64)               // receives the cluster's time from the leader
	Grace         time.Duration                   // how long an earlier leader may take for its outstanding answers
	Patience      time.Duration                   // how long calls wait in vain for a leader; 0 for as long as it takes
	Leads         func() bool                     // whether this node is the leader

	Forwarded atomic.Int64 // calls sent to a leader
	GivenUp   atomic.Int64 // calls that waited for a leader in vain

	mu      sync.Mutex
	waiting []*call.Call // for a leader, or for the writer
	bytes   int          // of their groups
	last    uint64
	wake    chan struct{}
	leaving sync.WaitGroup // connections that only wait for answers
}

// NewClient returns a client whose exported fields are still to be set.
func NewClient() *Client {
	return &Client{wake: make(chan struct{}, 1)}
}

// Add queues a call, whose group is set. It reports false if there is no room.
func (f *Client) Add(c *call.Call) bool {
	f.mu.Lock()
	if f.bytes > maxWaitingBytes {
		f.mu.Unlock()
		return false
	}
	f.waiting = append(f.waiting, c)
	f.bytes += len(c.Group)
	f.mu.Unlock()
	f.signal()
	return true
}

// Requeue queues a call again that certainly was not decided.
func (f *Client) Requeue(c *call.Call) {
	if !f.Add(c) {
		f.Fail(c, engine.Overloaded)
	}
}

func (f *Client) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run keeps a connection to the current leader until ctx is done.
func (f *Client) Run(ctx context.Context) {
	var inVain time.Time // since then calls wait and no leader is reached; zero if one was
	for ctx.Err() == nil {
		moved := f.LeaderChanged.Wait()
		address := f.Leader()
		if address == "" {
			f.drainLocally()
			inVain = f.giveUp(inVain)
			f.pause(ctx, moved)
			continue
		}
		conn, err := f.dialLeader(ctx, moved, address)
		if err != nil {
			inVain = f.giveUp(inVain)
			notifier.Pause(ctx, moved, redialDelay)
			continue
		}
		inVain = time.Time{}
		f.serve(ctx, conn, address)
	}
	f.leaving.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.waiting {
		f.Fail(c, engine.NoLeader)
	}
	f.waiting = nil
}

// pause waits until there may be another leader, or until the next call if none waits.
func (f *Client) pause(ctx context.Context, moved <-chan struct{}) {
	f.mu.Lock()
	isIdle := len(f.waiting) == 0
	f.mu.Unlock()
	if !isIdle {
		notifier.Pause(ctx, moved, redialDelay)
		return
	}
	select {
	case <-f.wake:
	case <-moved:
	case <-ctx.Done():
	case <-time.After(idleLook):
	}
}

// giveUp answers the calls that wait if no leader was reached for Patience, and returns since when calls wait in vain.
// A client's connection answers in order, so each call that waited for a group without a leader would hold up later
// calls for other groups.
func (f *Client) giveUp(inVain time.Time) time.Time {
	if f.Patience == 0 || f.Leads() {
		return time.Time{}
	}
	f.mu.Lock()
	waiting := f.waiting
	if inVain.IsZero() && len(waiting) > 0 {
		inVain = time.Now()
	}
	if inVain.IsZero() || time.Since(inVain) < f.Patience {
		f.mu.Unlock()
		return inVain
	}
	f.waiting, f.bytes = nil, 0
	f.mu.Unlock()
	for _, c := range waiting {
		f.GivenUp.Add(1)
		f.Fail(c, engine.NoLeader)
	}
	return inVain
}

// dialLeader connects to the leader. It gives up as soon as another node leads: dialing a dead node may take long.
func (f *Client) dialLeader(ctx context.Context, moved <-chan struct{}, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-moved:
			cancel()
		case <-ctx.Done():
		}
	}()
	return f.Dial(ctx, address)
}

// drainLocally decides the waiting calls on this node, if it leads.
func (f *Client) drainLocally() {
	f.mu.Lock()
	waiting := f.waiting
	f.waiting, f.bytes = nil, 0
	f.mu.Unlock()
	for i, c := range waiting {
		if !c.IsOpen() {
			continue
		}
		if !f.Decide(c) {
			f.mu.Lock()
			for _, c := range waiting[i:] {
				f.bytes += len(c.Group)
			}
			f.waiting = append(waiting[i:len(waiting):len(waiting)], f.waiting...)
			f.mu.Unlock()
			return
		}
	}
}
