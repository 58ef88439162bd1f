package server

import (
	"bytes"
	"math"
	"slices"
	"sync/atomic"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/latency"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/slowlog"
	"github.com/stintdb/stint/server/stats"
	"github.com/stintdb/stint/server/topkeys"
)

// topKeys are the keys denied most, as --top-keys shows them.
type topKeys struct {
	sketch   *topkeys.Sketch
	settings *atomic.Pointer[config.Config]
	clock    *clock.Clock
	hash     func(key []byte) string
}

// observer implements [command.Observer] with the parts of a server.
type observer struct {
	*slowlog.Log
	*latency.Monitor
	*memlimit.Limiter
	stats *stats.Stats
	top   topKeys
}

// Observer implements [command.Server].
func (s *Server) Observer() command.Observer {
	return observer{s.env.SlowLog, s.env.Latency, s.memory, s.env.Stats, s.topKeys()}
}

// Latencies implements [command.Observer].
func (o observer) Latencies(names []string) []command.LatencyHistogram {
	return o.stats.Latencies(names)
}

// MostDenied implements [command.Observer].
func (o observer) MostDenied(n int, u command.KeyReader) (keys []command.DeniedKey) {
	all, _ := o.top.sketch.Top(math.MaxInt, o.top.clock.Now())
	all = slices.DeleteFunc(all, func(e topkeys.Entry) bool {
		return !u.ReachesAll() && (e.Size > len(e.Key) || !u.Reaches(e.Key))
	})
	for _, e := range o.top.shown(all[:min(n, len(all))]) {
		keys = append(keys, command.DeniedKey{Key: e.Key, Count: e.Count, Error: e.Error})
	}
	return keys
}

func (s *Server) topKeys() topKeys {
	return topKeys{s.env.TopKeys, &s.settings, s.env.Clock, s.env.HashKey}
}

// shown puts hashes in the place of keys if --top-keys says so.
func (t topKeys) shown(entries []topkeys.Entry) []topkeys.Entry {
	if t.settings.Load().TopKeys == "hashed" {
		for i := range entries {
			entries[i].Key = []byte(t.hash(entries[i].Key))
			entries[i].Size = len(entries[i].Key)
		}
	}
	return entries
}

// HashKey returns the hash that is shown in place of a key where --top-keys is hashed. It is stable until the server
// restarts.
func (s *Server) HashKey(key []byte) string { return s.env.HashKey(key) }

// TopDenied returns the n keys denied most in the last minutes, by their hashes if --top-keys says so, and the number
// of denials of all keys.
func (s *Server) TopDenied(n int) (entries []topkeys.Entry, total int64) {
	entries, total = s.env.TopKeys.Top(n, s.env.Clock.Now())
	return s.topKeys().shown(entries), total
}

// DeniedOf returns how often a key was denied in the last minutes, 0 if it is not among the keys denied most, and the
// number of denials of all keys.
func (s *Server) DeniedOf(key []byte) (denied topkeys.Entry, total int64) {
	entries, total := s.env.TopKeys.Top(math.MaxInt, s.env.Clock.Now())
	kept := key[:min(len(key), topkeys.MaxKeyBytes)]
	for _, e := range entries {
		if e.Size == len(key) && bytes.Equal(e.Key, kept) {
			return e, total
		}
	}
	return denied, total
}

// TopLent returns the n keys of which most tokens are lent on this node, shown as by [Server.TopDenied]; none with
// --top-keys off.
func (s *Server) TopLent(n int) (keys []keyspace.LentKey) {
	if s.Config().TopKeys == "off" {
		return nil
	}
	keys = s.keys.TopLent(s.env.Clock.Now(), n)
	for i := range keys {
		keys[i].Key = database.KeyOf(keys[i].Key)
	}
	if s.Config().TopKeys == "hashed" {
		for i := range keys {
			keys[i].Key = []byte(s.HashKey(keys[i].Key))
		}
	}
	return keys
}
