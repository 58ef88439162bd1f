package store

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"slices"
	"sync"

	"github.com/stintdb/stint/engine"
)

const (
	// ScriptDialect is the version of the language of scripts, with its budget and the commands that scripts call. A change
	// of what any script does is another version, and an addition to the cluster's formats: replicas run a script alike.
	ScriptDialect = 1
	// MaxScripts bounds the scripts that were loaded.
	MaxScripts = 10_000
	// MaxCalledScripts bounds the scripts that are kept because they were called with their body. The oldest one goes first.
	MaxCalledScripts = 500
	// maxAllScriptBytes bounds the bodies together.
	maxAllScriptBytes = 8 << 20
)

// ScriptDigest names a script: the SHA-1 of its body, in 40 lower-case hex digits.
func ScriptDigest(body []byte) string {
	sum := sha1.Sum(body) //nolint:gosec // a name, as in Redis
	return hex.EncodeToString(sum[:])
}

// scripts are the bodies of scripts by their digest. They are replicated and kept on disk, as policies are.
type scripts struct {
	mu       sync.RWMutex
	byDigest map[string]script
	called   []string // digests of those that were not loaded, the oldest first

	bytes, loadedBytes int // of the bodies, and of those that were loaded
}

type script struct {
	body   []byte
	loaded bool
}

// find returns the body of a script; it is never changed.
func (s *scripts) find(digest []byte) (body []byte, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, found := s.byDigest[string(digest)]
	return known.body, found
}

// keep keeps a body, and reports whether that changed anything; fits is false if there is no room for it.
func (s *scripts) keep(body []byte, loaded bool) (changed, fits bool) {
	digest := ScriptDigest(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	known, found := s.byDigest[digest]
	if found && (known.loaded || !loaded) {
		return false, true
	}
	if !s.hasRoom(len(body), loaded) {
		return false, false
	}
	if found {
		s.forget(digest)
	}
	for s.bytes+len(body) > maxAllScriptBytes || !loaded && len(s.called) >= MaxCalledScripts {
		s.forget(s.called[0])
	}
	if s.byDigest == nil {
		s.byDigest = map[string]script{}
	}
	s.byDigest[digest] = script{bytes.Clone(body), loaded}
	s.bytes += len(body)
	if loaded {
		s.loadedBytes += len(body)
	} else {
		s.called = append(s.called, digest)
	}
	return true, true
}

// lacks reports whether keeping a body would change anything.
func (s *scripts) lacks(body []byte, loaded bool) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, found := s.byDigest[ScriptDigest(body)]
	return !found || loaded && !known.loaded
}

// fits reports whether there is room for a body.
func (s *scripts) fits(body []byte, loaded bool) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hasRoom(len(body), loaded)
}

// hasRoom reports whether a body of that size may be kept, if called scripts give way to it.
func (s *scripts) hasRoom(bytes int, loaded bool) bool {
	return bytes <= engine.MaxScriptBytes && s.loadedBytes+bytes <= maxAllScriptBytes && !(loaded && len(s.byDigest)-len(s.called) >= MaxScripts)
}

// forget drops a script that was not loaded.
func (s *scripts) forget(digest string) {
	s.bytes -= len(s.byDigest[digest].body)
	delete(s.byDigest, digest)
	i := slices.Index(s.called, digest)
	s.called = slices.Delete(s.called, i, i+1)
}

// clear forgets all scripts, and reports whether there were any.
func (s *scripts) clear() (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = len(s.byDigest) > 0
	s.byDigest, s.called, s.bytes, s.loadedBytes = nil, nil, 0, 0
	return changed
}

// ops calls visit for the operations that restore all scripts, in an order that keeps the age of those that were called.
func (s *scripts) ops(visit func(*engine.Op)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var loaded []string
	for digest, known := range s.byDigest {
		if known.loaded {
			loaded = append(loaded, digest)
		}
	}
	slices.Sort(loaded)
	for _, digest := range loaded {
		visit(&engine.Op{Verb: engine.KeepScript, Who: s.byDigest[digest].body, Options: engine.Loaded})
	}
	for _, digest := range s.called {
		visit(&engine.Op{Verb: engine.KeepScript, Who: s.byDigest[digest].body})
	}
}
