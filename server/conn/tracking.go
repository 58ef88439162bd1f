package conn

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/tracking"
)

// tracked is a session's part in client-side caching. It implements [command.Tracking].
type tracked struct{ session *Session }

// Tracking implements [command.Session].
func (s commandSession) Tracking() command.Tracking { return tracked{s.Session} }

// Client implements [command.Tracking].
func (t tracked) Client() *tracking.Client { return t.session.tracker.Load() }

// Caching implements [command.Tracking].
func (t tracked) Caching() bool { return t.session.caching }

// SetCaching implements [command.Tracking].
func (t tracked) SetCaching() { t.session.caching = true }

// Knows implements [command.Tracking].
func (t tracked) Knows(id int64) bool { return t.session.env.Registry.find(id) != nil }

// Start implements [command.Tracking].
func (t tracked) Start(o tracking.Options, prefixes []string) error {
	s, to := t.session, &t.session.inbox
	if o.Redirect != 0 {
		other := s.env.Registry.find(o.Redirect)
		if other == nil {
			return command.ErrNoRedirect
		}
		to = &other.inbox
	}
	c := s.tracker.Load()
	if c == nil {
		c = tracking.NewClient(&s.inbox)
	}
	if s.env.Tracking.Start(c, o, to, prefixes) != nil {
		return command.ErrManyPrefixes.With(tracking.MaxClientPrefixes, tracking.MaxPrefixBytes, tracking.MaxPrefixes, tracking.MaxNestedPrefixes)
	}
	s.tracker.Store(c)
	return nil
}

// forgetHere is how many keys are forgotten on the event loop.
const forgetHere = 1000

// Stop implements [command.Tracking].
func (t tracked) Stop() {
	s := t.session
	c := s.tracker.Swap(nil)
	s.caching = false
	if c == nil {
		return
	}
	s.env.Tracking.Stop(c)
	if c.Items() > forgetHere {
		s.env.cleanup.run(func() { s.env.Tracking.Forget(c) })
		return
	}
	s.env.Tracking.Forget(c)
}

// mark notes that the command added last reads keys, which the client will hold in its cache.
func (t tracked) mark(batch *commandBatch, caching bool) {
	last := &batch.replies[len(batch.replies)-1]
	o, _ := t.Client().Options()
	if last.err != nil || last.row == nil || !last.row.ReadsKeys() || o.Broadcast || o.OptIn && !caching || o.OptOut && caching {
		return
	}
	last.tracked, batch.tracked = true, true
}

// begin notes the keys that the client will hold, before its commands read them: no change after that is missed.
func (t tracked) begin(c *tracking.Client, batch *commandBatch) {
	batch.own = batch.own[:0]
	if c.BeginDecision() {
		for i := range batch.decision.Ops {
			batch.own = appendOwn(batch.own, i, &batch.decision.Ops[i])
		}
	}
	batch.decision.InOrder = batch.tracked
	if !batch.tracked {
		return
	}
	for i := range batch.replies {
		if r := &batch.replies[i]; r.tracked {
			eachKey(batch.decision.Ops[r.first:r.first+r.count], func(key []byte) { t.session.env.Tracking.Track(c, key) })
		}
	}
}

// end says which of the changes since begin were the client's own.
func (t tracked) end(c *tracking.Client, batch *commandBatch) {
	var changed map[string]bool
	c.EndDecision(func(key []byte) bool {
		if changed == nil {
			changed = make(map[string]bool, len(batch.own))
			for i := range batch.own {
				if own := &batch.own[i]; own.changed(&batch.decision.Results[own.op]) {
					changed[own.key] = true
				}
			}
		}
		return changed[string(key)]
	})
}

// ownKey is a key that an operation of a batch changes, if it changes all its keys.
type ownKey struct {
	op   int // in the batch
	key  string
	keys int64 // the number of keys that the operation may change; 0 for the deletion of a key
}

// appendOwn adds the keys of an operation whose result will show whether it changed them. The result of a script does not show it, and a limiter may
// be decided without a change.
func appendOwn(own []ownKey, at int, op *engine.Op) []ownKey {
	switch op.Verb {
	case engine.Delete:
		return append(own, ownKey{at, string(database.KeyOf(op.Key)), 0})
	case engine.Command:
		from := len(own)
		for i, key := range op.DeclaredKeys() {
			if command.AccessOf(op, i)&command.Changes != 0 {
				own = append(own, ownKey{at, string(key), 0})
			}
		}
		for i := range own[from:] {
			own[from+i].keys = int64(len(own) - from)
		}
	}
	return own
}

func (o *ownKey) changed(res *engine.Result) bool {
	return res.Status == engine.OK && (o.keys == 0 || res.Granted == o.keys)
}

// eachKey visits the keys that operations name.
func eachKey(ops []engine.Op, visit func(key []byte)) {
	for i := range ops {
		switch op := &ops[i]; {
		case op.Verb == engine.Command || op.Verb == engine.Script:
			for _, key := range op.DeclaredKeys() {
				visit(key)
			}
		case op.Verb == engine.AcquireAll:
			eachKey(op.Parts, visit)
		case op.Verb.HasOneKey():
			visit(database.KeyOf(op.Key))
		}
	}
}

// channel is the channel of invalidations, for connections in RESP2.
const channel = "__redis__:invalidate"

// write writes the messages about changes. While commands of the client are being decided, the messages wait. A client that got one before the
// reply of a read could believe that the reply already has the change; and messages about the client's own changes come after the reply.
func (t tracked) write(out *commandBatch) {
	s := t.session
	if c := t.Client(); c != nil {
		c.Pull()
	}
	if !s.inbox.HasMail() || s.deciding != nil || s.wait.has(ForReader|ForClose) {
		return
	}
	w := &out.out
	w.RESP3 = s.client.RESP3
	words, before := w.Words, len(w.Buf)
	for _, m := range s.inbox.Take() {
		switch {
		case m.Kind == tracking.Broken && w.RESP3:
			w.Push(2)
			w.BulkString("tracking-redir-broken")
			w.Int(m.Target)
		case m.Kind != tracking.Broken:
			t.writeInvalid(w, &m)
			s.share.charge(wordWork * len(m.Keys))
		}
	}
	s.share.chargeWritten(w, words, before)
}

// writeInvalid writes which keys are no longer valid.
func (t tracked) writeInvalid(w *resp.Writer, m *tracking.Message) {
	keys := m.Keys
	if m.IsBroadcast() {
		keys = t.permitted(keys)
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
	}
	if len(keys) == 0 && m.Kind == tracking.Keys {
		return
	}
	switch {
	case w.RESP3:
		w.Push(2)
		w.BulkString("invalidate")
	case t.session.channels.Load() > 0 && m.IsRedirected:
		w.Array(3)
		w.BulkString("message")
		w.BulkString(channel)
	default:
		return
	}
	if m.Kind == tracking.All {
		w.Null()
		return
	}
	w.Array(len(keys))
	for _, key := range keys {
		w.Bulk(key)
	}
}

// permitted returns the keys that the connection's user may read: others must not learn their names.
func (t tracked) permitted(keys [][]byte) (some [][]byte) {
	user := t.session.user
	switch {
	case user == nil:
		return nil
	case user.IsUnlimited():
		return keys
	}
	for _, key := range keys {
		if user.Reaches(key, false) {
			some = append(some, key)
		}
	}
	return some
}
