package command

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"sync"

	"github.com/stintdb/stint/engine/script"
)

// programs are compiled scripts by their digest. They are a cache: the store keeps the bodies.
type programs struct {
	mu       sync.RWMutex
	byDigest map[string]*script.Program
	bytes    int // of their bodies
}

// maxProgramBytes bounds the bodies of compiled scripts. Compiled, a script takes some ten times as much.
const maxProgramBytes = 8 << 20

// scriptDigest is the name of a script in lower case.
type scriptDigest [2 * sha1.Size]byte

// read reads a digest as a client writes it, and returns nil for one that no script has.
func (d *scriptDigest) read(arg []byte) []byte {
	if len(arg) != len(d) {
		return nil
	}
	for i, c := range arg {
		if c >= 'A' && c <= 'F' {
			c |= 0x20
		}
		d[i] = c
	}
	return d[:]
}

// steps is the most steps that a script has taken so far, 0 if that is not known.
func (p *programs) steps(digest []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known := p.byDigest[string(digest)]; known != nil {
		return known.Steps()
	}
	return 0
}

// compile returns the compiled form of a body.
func (p *programs) compile(digest, body []byte) (*script.Program, error) {
	p.mu.RLock()
	known := p.byDigest[string(digest)]
	p.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	compiled, err := script.Compile(body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes += len(body); p.byDigest == nil || p.bytes > maxProgramBytes {
		p.byDigest, p.bytes = map[string]*script.Program{}, len(body)
	}
	p.byDigest[string(digest)] = compiled
	return compiled, nil
}
