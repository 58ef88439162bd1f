package propose

import (
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/fsm"
)

// entry is one entry of the log on its way: calls[i] is the i-th group.
type entry struct {
	number uint64
	kind   byte
	buf    []byte
	calls  []*call.Call
	work   int        // of scripts
	began  time.Time  // when the entry was proposed
	done   chan error // receives the outcome of an entry that is no decision
	behind int        // calls that waited for the next entry when this one was applied
}

// isFull reports whether no call is added.
func (e *entry) isFull() bool { return len(e.buf) >= fullEntryBytes || e.work >= maxEntryWork }

// drop marks the calls as sent, and removes calls that were given up while they waited: these were answered as not
// taken.
func (e *entry) drop() {
	if e.kind != fsm.KindDecisions {
		return
	}
	kept, buf := e.calls[:0], e.buf[:fsm.EntryHead]
	e.eachGroup(func(c *call.Call, group []byte) {
		if c.Send() {
			kept = append(kept, c)
			buf = append(buf, group...) // onto itself until one was left out
		} else {
			c.Settle(false)
		}
	})
	clear(e.calls[len(kept):])
	e.calls, e.buf = kept, buf
}

// eachGroup calls visit for every call with its bytes in the entry.
func (e *entry) eachGroup(visit func(c *call.Call, group []byte)) {
	body := e.buf[fsm.EntryHead:]
	for _, c := range e.calls {
		_, rest, err := call.NextGroup(body)
		if err != nil {
			panic("propose: an entry that was just written does not read: " + err.Error())
		}
		size := len(body) - len(rest)
		visit(c, body[:size:size])
		body = rest
	}
}
