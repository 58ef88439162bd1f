package data

import (
	"crypto/sha1"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/server/command"
)

// programs is a cache of compiled scripts; the store keeps their texts. It has two generations. When the young one has
// grown to half of the limit, it replaces the old one. Scripts in use move from the old generation to the young, so
// they stay.
type programs struct {
	mu         sync.RWMutex
	young, old generation
	bytes      int // of the young generation
	// last is the young script that was found last: most servers run the same script again and again.
	last atomic.Pointer[script.Program]
}

// generation is a part of the compiled scripts.
type generation struct {
	byDigest map[string]*script.Program
	byBody   map[string]*script.Program // the same scripts: computing a digest takes longer than a lookup by the text
}

// maxProgramBytes limits the memory of compiled scripts.
const maxProgramBytes = 4 << 20

// scriptDigest is the SHA-1 of a script in lower case, by which Redis names it.
type scriptDigest [2 * sha1.Size]byte

// read converts a digest from a client to lower case. It returns nil if the length is wrong.
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

// ofName returns a digest from a client in lower case, nil if its length is wrong, and its script, nil if that is not in
// the cache. The digest of the script that was found last is returned as it is.
func (p *programs) ofName(name []byte) (digest []byte, found *script.Program) {
	if last := p.last.Load(); last != nil && last.SHA1() == string(name) {
		return name, last
	}
	digest = new(scriptDigest).read(name)
	return digest, p.find(func(g *generation) *script.Program { return g.byDigest[string(digest)] })
}

// ofBody returns the script with a text, nil if it is not in the cache.
func (p *programs) ofBody(body []byte) *script.Program {
	return p.find(func(g *generation) *script.Program { return g.byBody[string(body)] })
}

// find looks in the young generation, then in the old one. It moves a script from the old generation to the young.
func (p *programs) find(in func(g *generation) *script.Program) *script.Program {
	p.mu.RLock()
	found, isOld := in(&p.young), false
	if found == nil {
		found = in(&p.old)
		isOld = found != nil
	} else if p.last.Load() != found {
		p.last.Store(found) // under the lock, so that keep and clear see it when they drop the generation
	}
	p.mu.RUnlock()
	if isOld {
		p.keep(found)
	}
	return found
}

// compile returns the cached script of a text, or compiles it.
func (p *programs) compile(body []byte) (*script.Program, error) {
	if known := p.ofBody(body); known != nil {
		return known, nil
	}
	compiled, err := script.Compile(body)
	if err != nil {
		return nil, err
	}
	p.keep(compiled)
	return compiled, nil
}

// clear forgets all scripts.
func (p *programs) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.young, p.old, p.bytes = generation{}, generation{}, 0
	p.last.Store(nil)
}

// keep adds a script to the young generation.
func (p *programs) keep(compiled *script.Program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.young.byDigest[compiled.SHA1()] != nil {
		return
	}
	if p.bytes += compiled.Bytes(); p.young.byDigest == nil || p.bytes > maxProgramBytes/2 {
		p.old, p.bytes = p.young, compiled.Bytes()
		p.last.Store(nil)
		p.young = generation{map[string]*script.Program{}, map[string]*script.Program{}}
	}
	p.young.byDigest[compiled.SHA1()], p.young.byBody[compiled.Body()] = compiled, compiled
}

// programOf returns the cached script that an operation runs, nil if there is none.
func (e *Executor) programOf(row *command.Row, op *engine.Op) (found *script.Program) {
	switch {
	case row == nil || row.Cost != command.ScriptRun || len(op.Args) < 2:
		return nil
	case !strings.HasPrefix(row.Name, "evalsha"):
		return e.programs.ofBody(op.Args[1])
	}
	_, found = e.programs.ofName(op.Args[1])
	return found
}
