// Package scriptcache keeps the bodies of scripts by their digests, so that clients can call a script without sending
// it. Bodies that were loaded stay; bodies that were only called give way to newer ones.
package scriptcache

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

const (
	// Dialect is the version of the language of scripts, with its budget and the commands that scripts call. A change
	// of what any script does is another version, and an addition to the cluster's formats: replicas run a script alike.
	// Scripts of dialect 2 may call commands that those of 0.2.0 may not: see Dialect of a command's row. Their powers,
	// logarithms and functions of angles do not depend on the processor.
	Dialect = 2
	// MaxLoaded bounds the scripts that were loaded.
	MaxLoaded = 10_000
	// MaxCalled bounds the scripts that are kept because they were called with their body. The oldest one goes first.
	MaxCalled = 500
	// maxBytes bounds the bodies together.
	maxBytes = 8 << 20
)

// Digest names a script: the SHA-1 of its body, in 40 lower-case hex digits.
func Digest(body []byte) string {
	sum := sha1.Sum(body) //nolint:gosec // a name, as in Redis
	return hex.EncodeToString(sum[:])
}

// Cache keeps the bodies of scripts by their digests. Like policies, the scripts are replicated and stored on disk. The
// zero value is an empty cache. Any goroutine may call its methods.
type Cache struct {
	mu       sync.RWMutex
	byDigest map[string]script
	last     atomic.Pointer[found] // by Find: most servers run the same script again and again
	called   []string              // digests of the scripts that were not loaded, the oldest first

	bytes, loadedBytes int // of the bodies, and of the loaded ones
}

type script struct {
	body   []byte
	loaded bool
}

// found is a script as Find returns it.
type found struct {
	digest string
	body   []byte
}

// Find returns the body of a script; it is never changed.
func (c *Cache) Find(digest []byte) (body []byte, isKept bool) {
	if last := c.last.Load(); last != nil && last.digest == string(digest) {
		return last.body, true
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	known, isKept := c.byDigest[string(digest)]
	if isKept {
		c.last.Store(&found{string(digest), known.body}) // under the lock, so that whoever drops the script drops it here too
	}
	return known.body, isKept
}

// Len is the number of scripts.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.byDigest)
}

// Keep keeps a body, and reports whether that changed anything; fits is false if there is no room for it.
func (c *Cache) Keep(body []byte, loaded bool) (changed, fits bool) {
	digest := Digest(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found := c.byDigest[digest]
	if found && (known.loaded || !loaded) {
		return false, true
	}
	if !c.hasRoom(len(body), loaded) {
		return false, false
	}
	if found {
		c.forget(digest)
	}
	for c.bytes+len(body) > maxBytes || !loaded && len(c.called) >= MaxCalled {
		c.forget(c.called[0])
	}
	if c.byDigest == nil {
		c.byDigest = map[string]script{}
	}
	c.byDigest[digest] = script{bytes.Clone(body), loaded}
	c.bytes += len(body)
	if loaded {
		c.loadedBytes += len(body)
	} else {
		c.called = append(c.called, digest)
	}
	return true, true
}

// Apply carries out a KeepScript or DropScripts, and reports whether that changed anything.
func (c *Cache) Apply(op *engine.Op, res *engine.Result) (changed bool) {
	switch op.Verb {
	case engine.KeepScript:
		fits := false
		if changed, fits = c.Keep(op.Who, op.Options&engine.Loaded != 0); !fits {
			res.Status = engine.TooMany
		}
	case engine.DropScripts:
		changed = c.Clear()
	}
	return changed
}

// Lacks reports whether keeping a body would change anything.
func (c *Cache) Lacks(body []byte, loaded bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	known, found := c.byDigest[Digest(body)]
	return !found || loaded && !known.loaded
}

// Fits reports whether there is room for a body.
func (c *Cache) Fits(body []byte, loaded bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.hasRoom(len(body), loaded)
}

// hasRoom reports whether a body of that size may be kept, if called scripts give way to it.
func (c *Cache) hasRoom(bytes int, loaded bool) bool {
	return bytes <= engine.MaxScriptBytes && c.loadedBytes+bytes <= maxBytes && !(loaded && len(c.byDigest)-len(c.called) >= MaxLoaded)
}

// forget drops a script that was not loaded.
func (c *Cache) forget(digest string) {
	c.last.Store(nil)
	c.bytes -= len(c.byDigest[digest].body)
	delete(c.byDigest, digest)
	i := slices.Index(c.called, digest)
	c.called = slices.Delete(c.called, i, i+1)
}

// Clear forgets all scripts, and reports whether there were any.
func (c *Cache) Clear() (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = len(c.byDigest) > 0
	c.last.Store(nil)
	c.byDigest, c.called, c.bytes, c.loadedBytes = nil, nil, 0, 0
	return changed
}

// Ops calls visit for the operations that restore all scripts, in an order that keeps the age of those that were
// called.
func (c *Cache) Ops(visit func(*engine.Op)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var loaded []string
	for digest, known := range c.byDigest {
		if known.loaded {
			loaded = append(loaded, digest)
		}
	}
	slices.Sort(loaded)
	for _, digest := range loaded {
		visit(&engine.Op{Verb: engine.KeepScript, Who: c.byDigest[digest].body, Options: engine.Loaded})
	}
	for _, digest := range c.called {
		visit(&engine.Op{Verb: engine.KeepScript, Who: c.byDigest[digest].body})
	}
}
