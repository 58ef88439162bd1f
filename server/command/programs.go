package command

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"sync"

	"github.com/stintdb/stint/engine/script"
)

// programs are compiled scripts. They are a cache: the store keeps the bodies.
type programs struct {
	mu       sync.RWMutex
	byDigest map[string]*script.Program
	byBody   map[string]*script.Program // the same ones, since a digest takes longer than a look into a map
	bytes    int                        // of their bodies
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

// ofDigest returns a script by its digest in lower case, nil if it is not compiled.
func (p *programs) ofDigest(digest []byte) *script.Program {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byDigest[string(digest)]
}

// ofName is ofDigest for a digest as a client sends it.
func (p *programs) ofName(name []byte) *script.Program {
	return p.ofDigest(new(scriptDigest).read(name))
}

// ofBody returns a script by its body, nil if it is not compiled.
func (p *programs) ofBody(body []byte) *script.Program {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byBody[string(body)]
}

// compile compiles a body, unless that is done.
func (p *programs) compile(body []byte) (*script.Program, error) {
	if known := p.ofBody(body); known != nil {
		return known, nil
	}
	compiled, err := script.Compile(body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes += len(body); p.byDigest == nil || p.bytes > maxProgramBytes {
		p.byDigest, p.byBody, p.bytes = map[string]*script.Program{}, map[string]*script.Program{}, len(body)
	}
	p.byDigest[compiled.SHA1()], p.byBody[string(body)] = compiled, compiled
	return compiled, nil
}
