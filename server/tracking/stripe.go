package tracking

import "sync"

// stripe is a part of the keys that clients have read, with its lock.
type stripe struct {
	mu    sync.Mutex
	keys  map[string]*entry
	items map[pair]*item
	own   map[*Client]*item // the first item of each client in this stripe
}

// entry is a key with the clients that have read it.
type entry struct {
	key    string
	first  *item
	items  int
	isGone bool // the key has changed: the entry is no longer among the keys, and some clients are still to be told
}

// pair names an item.
type pair struct {
	client *Client
	entry  *entry
}

// item records that a client has read a key. Each item is in two lists: the clients of the key, and the keys of the
// client.
type item struct {
	pair
	keyPrev, keyNext *item
	ownPrev, ownNext *item
}

// The memory of an item and of a key, roughly.
const (
	itemBytes  = 160
	entryBytes = 120
)

// bytes is the memory of an item, and of its key, as if no other client had read it.
func (i *item) bytes() int64 { return itemBytes + entryBytes + int64(len(i.entry.key)) }

func (s *stripe) init() {
	s.keys, s.items, s.own = map[string]*entry{}, map[pair]*item{}, map[*Client]*item{}
}

// add notes that a client has read a key.
func (s *stripe) add(c *Client, key []byte) (newKey, newItem bool) {
	e := s.keys[string(key)]
	if newKey = e == nil; newKey {
		e = &entry{key: string(key)}
		s.keys[e.key] = e
	}
	name := pair{c, e}
	if s.items[name] != nil {
		return newKey, false
	}
	i := &item{pair: name, keyNext: e.first, ownNext: s.own[c]}
	if i.keyNext != nil {
		i.keyNext.keyPrev = i
	}
	if i.ownNext != nil {
		i.ownNext.ownPrev = i
	}
	e.first, s.own[c], s.items[name] = i, i, i
	e.items++
	c.bytes.Add(i.bytes())
	c.items.Add(1)
	return newKey, true
}

// take removes a key, and returns its entry, which still has its items; it returns nil if nobody has read the key.
func (s *stripe) take(key []byte) *entry {
	e := s.keys[string(key)]
	if e != nil {
		delete(s.keys, e.key)
		e.isGone = true
	}
	return e
}

// unlink removes an item from the lists of its client and of its key.
func (s *stripe) unlink(i *item) {
	s.unlinkOwn(i)
	if i.keyNext != nil {
		i.keyNext.keyPrev = i.keyPrev
	}
	if i.keyPrev != nil {
		i.keyPrev.keyNext = i.keyNext
	} else {
		i.entry.first = i.keyNext
	}
}

// unlinkOwn removes an item from the list of its client.
func (s *stripe) unlinkOwn(i *item) {
	delete(s.items, i.pair)
	i.entry.items--
	i.client.bytes.Add(-i.bytes())
	i.client.items.Add(-1)
	switch {
	case i.ownPrev != nil:
		i.ownPrev.ownNext = i.ownNext
	case i.ownNext != nil:
		s.own[i.client] = i.ownNext
	default:
		delete(s.own, i.client)
	}
	if i.ownNext != nil {
		i.ownNext.ownPrev = i.ownPrev
	}
}

// forget removes some items of a client, and the keys that nobody else has read. It reports whether the client has
// more.
func (s *stripe) forget(c *Client, most int) (keys, items int, bytes int64, more bool) {
	for ; items < most; items++ {
		i := s.own[c]
		if i == nil {
			return keys, items, bytes, false
		}
		bytes += i.bytes()
		if s.unlink(i); i.entry.first == nil && !i.entry.isGone {
			delete(s.keys, i.entry.key)
			keys++
		}
	}
	return keys, items, bytes, s.own[c] != nil
}

// other returns any key but one.
func (s *stripe) other(than []byte) (key string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.keys {
		if key != string(than) {
			return key, true
		}
	}
	return "", false
}

// clear removes everything, and returns how many bytes it took.
func (s *stripe) clear() (bytes int64) {
	for c, i := range s.own {
		for ; i != nil; i = i.ownNext {
			c.bytes.Add(-i.bytes())
			c.items.Add(-1)
			bytes += i.bytes()
			i.entry.first, i.entry.items = nil, 0
		}
	}
	s.init()
	return bytes
}
