package main

import (
	"math/bits"

	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// stores are the stores of a process: the first, which has all keys unless there are groups of keys, and one for each of
// these.
type stores struct {
	first  *store.Store
	groups []*store.Store
}

// newStores makes the stores like one.
func newStores(cfg *config.Config, commands *server.Commands, like store.Config) (s stores) {
	like.Replicated, like.Commands = cfg.IsCluster(), commands.On(cfg, nil)
	if isSmall(cfg) {
		like.Shards = fewShards
	}
	if cfg.Groups < 2 {
		return stores{first: store.New(like)}
	}
	for number := range cfg.Groups + 1 {
		like.Owns = func(key []byte) bool { return slot.GroupOf(slot.Of(key), cfg.Groups) == number }
		like.Commands, like.Shards = commands.On(cfg, like.Owns), shardsOfGroup(cfg.Groups)
		s.groups = append(s.groups, store.New(like))
	}
	s.first, s.groups = s.groups[0], s.groups[1:]
	return s
}

// A store in little memory has few shards, because each takes some pages of memory.
const (
	smallMemory = 64 << 20
	fewShards   = 32
)

// isSmall reports whether a server has little memory, as a sidecar has.
func isSmall(cfg *config.Config) bool {
	return cfg.MaxMemoryBytes > 0 && cfg.MaxMemoryBytes <= smallMemory
}

// shardsOfGroup is the number of shards of a group's store. All groups together have about as many as one store alone.
func shardsOfGroup(groups int) int { return 1024 >> bits.Len(uint(groups-1)) }

func (s stores) all() []*store.Store { return append([]*store.Store{s.first}, s.groups...) }

func (s stores) close() {
	for _, g := range s.all() {
		g.Close()
	}
}

// observe is [store.Store.Observe] of all.
func (s stores) observe(on bool) {
	for _, g := range s.all() {
		g.Observe(on)
	}
}
