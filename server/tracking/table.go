package tracking

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/fanout"
)

// Table holds all clients that track, with the keys that they have read and the prefixes that they asked for. Its
// methods may be called from any goroutine, but by only one at a time for the same client.
type Table struct {
	queue   *fanout.Queue
	bounds  func() Bounds
	listen  func() // from its call on, Changed is called for changes
	stop    func()
	seed    maphash.Seed
	stripes [64]stripe
	keys    atomic.Int64
	items   atomic.Int64
	bytes   atomic.Int64 // of keys and items, roughly

	rows atomic.Pointer[rows]

	mu       sync.Mutex // of clients, and of changes of rows
	clients  map[*Client]struct{}
	count    atomic.Int64 // of clients
	patterns int

	departures
}

// Bounds are the bounds of a table.
type Bounds struct {
	Keys  int64 // that clients have read; 0 for as many as the bytes allow
	Bytes int64 // of them
}

// Bounds of prefixes.
const (
	MaxClientPrefixes = 256
	MaxPrefixes       = 10_000 // of all clients, each counted for every client that has it
	MaxPrefixBytes    = 4096   // of one prefix
	MaxNestedPrefixes = 32     // that one key begins with: a change is noted for each
)

// ErrManyPrefixes is the error of a client with prefixes beyond the bounds.
var ErrManyPrefixes = errors.New("more prefixes than there may be")

// NewTable returns a table without clients, which a queue will wake. After listen, [Table.Changed] is called for
// changes of keys, until stop has been called as often as listen.
func NewTable(queue *fanout.Queue, bounds func() Bounds, listen, stop func()) *Table {
	t := &Table{queue: queue, bounds: bounds, listen: listen, stop: stop, seed: maphash.MakeSeed(),
		clients: map[*Client]struct{}{}}
	for i := range t.stripes {
		t.stripes[i].init()
	}
	t.rows.Store(&rows{})
	return t
}

// Counts returns the number of clients, of keys and items that they have read, and of prefixes.
func (t *Table) Counts() (clients, keys, items, prefixes int64) {
	return t.count.Load(), t.keys.Load(), t.items.Load(), int64(len(*t.rows.Load()))
}

// Start makes a client track, or changes how it tracks. Its messages go to an inbox. The prefixes are added to the
// client's earlier ones.
func (t *Table) Start(c *Client, o Options, to *Inbox, prefixes []string) error {
	before := c.state.Load()
	next := &state{Options: o, to: to}
	if before != nil {
		next.patterns = before.patterns
	}
	if err := t.addPatterns(c, next, prefixes); err != nil {
		return err
	}
	c.of = t
	c.broken.Store(false)
	if before == nil {
		t.listen()
		t.mu.Lock()
		t.clients[c] = struct{}{}
		t.count.Store(int64(len(t.clients)))
		t.mu.Unlock()
	}
	c.state.Store(next)
	return nil
}

// addPatterns makes the patterns of a client's new prefixes.
func (t *Table) addPatterns(c *Client, next *state, prefixes []string) error {
	var added []string
	total := 0
	for _, prefix := range prefixes {
		if slices.ContainsFunc(next.patterns, func(p *pattern) bool { return p.prefix == prefix }) ||
			slices.Contains(added, prefix) {
			continue
		}
		added = append(added, prefix)
		total += patternBytes + len(prefix)
		if len(prefix) > MaxPrefixBytes {
			return ErrManyPrefixes
		}
	}
	if len(added) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.rows.Load().with(added, t.queue)
	if len(next.patterns)+len(added) > MaxClientPrefixes || t.patterns+len(added) > MaxPrefixes ||
		all.depth() >= MaxNestedPrefixes {
		return ErrManyPrefixes
	}
	t.rows.Store(&all)
	t.patterns += len(added)
	c.bytes.Add(int64(total))
	next.patterns = slices.Clone(next.patterns)
	for _, prefix := range added {
		at, _ := all.find(prefix)
		next.patterns = append(next.patterns, &pattern{prefix, all[at].keys.Join(c.own.owner)})
	}
	slices.SortFunc(next.patterns, func(a, b *pattern) int { return strings.Compare(a.prefix, b.prefix) })
	return nil
}

// patternBytes is about the memory of a prefix of a client.
const patternBytes = 128

// Stop ends the tracking of a client. The table still remembers which keys the client has read, until Forget frees that
// memory.
func (t *Table) Stop(c *Client) {
	before := c.state.Swap(nil)
	if before == nil {
		return
	}
	t.mu.Lock()
	t.dropPatterns(before.patterns)
	delete(t.clients, c)
	t.count.Store(int64(len(t.clients)))
	t.mu.Unlock()
	t.stop()
}

// dropPatterns removes the patterns of a client.
func (t *Table) dropPatterns(some []*pattern) {
	if len(some) == 0 {
		return
	}
	prefixes := make([]string, len(some))
	for i, p := range some {
		prefixes[i] = p.prefix
		p.place.Leave()
	}
	next := t.rows.Load().without(prefixes)
	t.rows.Store(&next)
	t.patterns -= len(some)
}

// forgetAtOnce is how many items of a client are removed with a stripe locked.
const forgetAtOnce = 256

// Forget frees the memory of a client that no longer tracks.
func (t *Table) Forget(c *Client) {
	for i := range t.stripes {
		for s, more := &t.stripes[i], c.items.Load() > 0; more; {
			var keys, items int
			var bytes int64
			s.mu.Lock()
			keys, items, bytes, more = s.forget(c, forgetAtOnce)
			t.removed(keys, items, bytes)
			s.mu.Unlock()
		}
	}
}

// Track notes that a client is about to read a key. From then on, until the key changes, the client is taken to hold
// it.
func (t *Table) Track(c *Client, key []byte) {
	s := t.stripeOf(key)
	s.mu.Lock()
	newKey, newItem := s.add(c, key)
	if newKey {
		t.keys.Add(1)
	}
	if newItem {
		t.items.Add(1)
		t.bytes.Add(itemBytes + entryBytes + int64(len(key)))
	}
	s.mu.Unlock()
	t.shrink(shrinkAtOnce, key)
}

// shrinkAtOnce is the most keys that are removed when one is added. It is more than one, so that the table shrinks if
// its bound is lowered.
const shrinkAtOnce = 4

// Shrink removes keys of a table that is beyond its bounds, up to a number of them, and sends messages as if they had
// changed.
func (t *Table) Shrink(most int) { t.shrink(most, nil) }

// shrink is Shrink, but keeps a key.
func (t *Table) shrink(most int, newest []byte) {
	b := t.bounds()
	for ; most > 0; most-- {
		keys := t.keys.Load()
		if keys == 0 || (b.Keys == 0 || keys <= b.Keys) && t.bytes.Load() <= b.Bytes || !t.evict(newest) {
			return
		}
	}
}

// evict removes some key other than the newest.
func (t *Table) evict(newest []byte) bool {
	from := rand.IntN(len(t.stripes))
	for i := range t.stripes {
		if key, found := t.stripes[(from+i)%len(t.stripes)].other(newest); found {
			t.changedKey([]byte(key))
			return true
		}
	}
	return false
}

// Changed notes that a key has changed, given by its name in the keyspace, or, if that is nil, that all keys may have
// changed. As in Redis, a client that has read a key in one database hears of its namesakes in others too.
func (t *Table) Changed(name []byte) {
	if name == nil {
		t.changedAll()
		return
	}
	key := database.KeyOf(name)
	if all := *t.rows.Load(); len(all) > 0 {
		t.broadcast(all, key)
	}
	if t.keys.Load() > 0 {
		t.changedKey(key)
	}
}

// broadcast notes a change for each prefix that the key begins with, however many clients have it.
func (t *Table) broadcast(all rows, key []byte) {
	var shared []byte
	all.each(key, func(r *row) {
		if shared == nil {
			shared = bytes.Clone(key)
		}
		r.keys.Add(shared)
	})
}

func (t *Table) changedAll() {
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.Lock()
		keys, items := len(s.keys), len(s.items)
		bytes := s.clear()
		t.removed(keys, items, bytes)
		s.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.clients {
		if r := c.send(Message{Kind: All}); r != nil {
			r.Call(1)
		}
	}
}

func (t *Table) removed(keys, items int, bytes int64) {
	t.keys.Add(-int64(keys))
	t.items.Add(-int64(items))
	t.bytes.Add(-bytes)
}

func (t *Table) stripeOf(key []byte) *stripe {
	return &t.stripes[maphash.Bytes(t.seed, key)%uint64(len(t.stripes))]
}
