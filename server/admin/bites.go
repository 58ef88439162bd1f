package admin

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/topkeys"
)

const (
	bitesKeys  = 500             // the most denied keys, whose limits are looked for
	bitesShown = 10              // limits
	bitesFor   = 5 * time.Second // how long a result is kept
)

// bites finds the limits that deny most. It keeps the result for a while, because the search goes through the keys of
// all policies.
type bites struct {
	mu      sync.Mutex
	at      time.Time
	last    []clusterstatus.Bite
	all     int64                      // the denials of all keys then
	keys    map[string][]topkeys.Entry // the keys that each limit denied, when last was found
	named   map[string]string          // the limits of these keys, by key
	denials denialHistories
}

// look lists the limits that deny most, or none if --top-keys hides keys. It also returns the denials of all keys at the
// same moment, so that what is left for other limits is right.
func (b *bites) look(s *server.Server) (limits []clusterstatus.Bite, denials int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && time.Since(b.at) < bitesFor {
		return b.last, b.all
	}
	entries, total := s.TopDenied(bitesKeys)
	b.keys = map[string][]topkeys.Entry{}
	names := b.limitsOf(context.Background(), s, entries)
	b.named = map[string]string{}
	for i, limit := range names {
		if limit != "" {
			b.keys[limit] = append(b.keys[limit], entries[i])
			b.named[string(entries[i].Key)] = limit
		}
	}
	now := s.Now()
	if b.denials == nil {
		b.denials = denialHistories{}
	}
	b.denials.add(now, b.keys)
	all := []clusterstatus.Bite{}
	for limit, keys := range b.keys {
		each := clusterstatus.Bite{Limit: limit, Keys: len(keys)}
		for _, e := range keys {
			each.Denied += e.Count
		}
		if c := b.denials[limit]; c != nil {
			c.describe(now, &each)
		}
		all = append(all, each)
	}
	slices.SortFunc(all, byDenials)
	b.at, b.last, b.all = time.Now(), all[:min(len(all), bitesShown)], total
	return b.last, b.all
}

// limitsOf returns the limit that denied each key. A key that has expired has the limit that it had at the last look,
// because many keys expire soon after their last denial. The caller holds mu.
func (b *bites) limitsOf(ctx context.Context, s *server.Server, entries []topkeys.Entry) []string {
	policies := sync.OnceValue(func() []policyKey { return policyKeys(s) })
	names := limitsOf(ctx, s, policies, entries)
	for i, name := range names {
		if name == "" {
			names[i] = b.named[string(entries[i].Key)]
		}
	}
	return names
}

// topKey is one of the keys denied most.
type topKey struct {
	Key   string `json:"key"`
	Count int64  `json:"count"`
	Error int64  `json:"error"`
	By    string `json:"by"`    // the limit that denied it, with its policy if it has one; "" if unknown
	Whole bool   `json:"whole"` // Key is the key itself, so the page can ask for it

	Own *ownShare `json:"own"` // null if unknown
}

// topKeyOf is the view of an entry that the limit by denied.
func topKeyOf(e topkeys.Entry, mode string, now int64, by string) topKey {
	return topKey{Key: bytetext.Shown(string(e.Key)), Count: e.Count, Error: e.Error, By: by, Own: ownShareOf(e, now), Whole: isWhole(e, mode)}
}

// topKeys is the views of entries, with the limits that denied them.
func (b *bites) topKeys(ctx context.Context, s *server.Server, entries []topkeys.Entry) []topKey {
	b.mu.Lock()
	names := b.limitsOf(ctx, s, entries)
	b.mu.Unlock()
	views := []topKey{}
	for i, e := range entries {
		views = append(views, topKeyOf(e, s.Config().TopKeys, s.Now(), names[i]))
	}
	return views
}

// limitKeys is the reply to a page that asks for the keys of a limit.
type limitKeys struct {
	Entries []topKey `json:"entries"`
}

// keysOfLimit lists the keys that a limit denies most at this node.
func (a *Admin) keysOfLimit(_ context.Context, s *server.Server, r *http.Request) (any, error) {
	limit := r.URL.Query().Get("limit")
	a.bites.look(s)
	a.bites.mu.Lock()
	entries := a.bites.keys[limit]
	a.bites.mu.Unlock()
	v := limitKeys{[]topKey{}}
	for _, e := range entries[:min(len(entries), topShown)] {
		v.Entries = append(v.Entries, topKeyOf(e, s.Config().TopKeys, s.Now(), limit))
	}
	return v, nil
}
