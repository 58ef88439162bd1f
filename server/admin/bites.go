package admin

import (
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
)

// What bounds the search for the limits of the keys denied most.
const (
	bitesKeys  = 500
	bitesShown = 10
	bitesFor   = 5 * time.Second
)

// bites keeps the last answer for a while, because the search goes through the keys of all policies.
type bites struct {
	mu   sync.Mutex
	at   time.Time
	last []clusterstatus.Bite
}

// look lists the limits that deny most, none if keys are not shown as they are.
func (b *bites) look(s *server.Server) []clusterstatus.Bite {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && time.Since(b.at) < bitesFor {
		return b.last
	}
	byLimit, policies := map[string]*clusterstatus.Bite{}, sync.OnceValue(func() []policyKey { return policyKeys(s) })
	entries, _ := s.TopDenied(bitesKeys)
	for _, e := range entries {
		limit := ""
		if isWhole(e, s.Config().TopKeys) {
			limit = deniedBy(s, policies(), e.Key)
		}
		if limit == "" {
			continue
		}
		if byLimit[limit] == nil {
			byLimit[limit] = &clusterstatus.Bite{Limit: limit}
		}
		byLimit[limit].Denied += e.Count
		byLimit[limit].Keys++
	}
	all := []clusterstatus.Bite{}
	for _, each := range byLimit {
		all = append(all, *each)
	}
	slices.SortFunc(all, byDenials)
	b.at, b.last = time.Now(), all[:min(len(all), bitesShown)]
	return b.last
}
