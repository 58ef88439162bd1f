package clientcache

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/tracking"
)

// channel is the channel of invalidations, for connections in RESP2.
const channel = "__redis__:invalidate"

// Pull looks for changes of the keys that the connection tracks. It reports whether there are messages to write.
func (c *Cache) Pull() (hasMail bool) {
	if client := c.Client(); client != nil {
		client.Pull()
	}
	return c.inbox.HasMail()
}

// Write writes the messages for a connection of a user, which may be subscribed to channels. It returns the number of
// keys that they are about.
func (c *Cache) Write(w *resp.Writer, user *acl.User, isSubscribed bool) (keys int) {
	for _, m := range c.inbox.Take() {
		switch {
		case m.Kind == tracking.Broken && w.RESP3:
			w.Push(2)
			w.BulkString("tracking-redir-broken")
			w.Int(m.Target)
		case m.Kind != tracking.Broken:
			writeInvalid(w, &m, user, isSubscribed)
			keys += len(m.Keys)
		}
	}
	return keys
}

// writeInvalid writes which keys are no longer valid.
func writeInvalid(w *resp.Writer, m *tracking.Message, user *acl.User, isSubscribed bool) {
	keys := m.Keys
	if m.IsBroadcast() {
		keys = permitted(keys, user)
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
	case isSubscribed && m.IsRedirected:
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

// permitted returns the keys that a user may read: others must not learn their names.
func permitted(keys [][]byte, user *acl.User) (some [][]byte) {
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
