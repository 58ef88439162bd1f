package command

import (
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

// steps is the most steps that a script has taken so far, 0 if that is not known.
func (p *programs) steps(digest string) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if known := p.byDigest[digest]; known != nil {
		return known.Steps()
	}
	return 0
}

// compile returns the compiled form of a body.
func (p *programs) compile(digest string, body []byte) (*script.Program, error) {
	p.mu.RLock()
	known := p.byDigest[digest]
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
	p.byDigest[digest] = compiled
	return compiled, nil
}
