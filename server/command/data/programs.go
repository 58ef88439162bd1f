package data

import (
	"crypto/sha1"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/server/command"
)

//nolint:gosec // Redis names scripts by it

// programs are compiled scripts. They are a cache: the store keeps the bodies. Used ones stay: when the young generation has
// grown to half of the bound, the old one goes, and the young one becomes it.
type programs struct {
	mu         sync.RWMutex
	young, old generation
	bytes      int // of the young ones
	// last is the script that was found last, if it is a young one: most servers run one script again and again.
	last atomic.Pointer[script.Program]
}

// generation is compiled scripts.
type generation struct {
	byDigest map[string]*script.Program
	byBody   map[string]*script.Program // the same ones, since a digest takes longer than a look into a map
}

// maxProgramBytes bounds the memory of compiled scripts.
const maxProgramBytes = 4 << 20

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
	if last := p.last.Load(); last != nil && last.SHA1() == string(digest) {
		return last
	}
	return p.find(func(g *generation) *script.Program { return g.byDigest[string(digest)] })
}

// ofName is ofDigest for a digest as a client sends it.
func (p *programs) ofName(name []byte) *script.Program {
	return p.ofDigest(new(scriptDigest).read(name))
}

// ofBody returns a script by its body, nil if it is not compiled.
func (p *programs) ofBody(body []byte) *script.Program {
	return p.find(func(g *generation) *script.Program { return g.byBody[string(body)] })
}

// find looks into the young generation, and then into the old one, and moves a script from there.
func (p *programs) find(in func(g *generation) *script.Program) *script.Program {
	p.mu.RLock()
	found, isOld := in(&p.young), false
	if found == nil {
		found = in(&p.old)
		isOld = found != nil
	} else if p.last.Load() != found {
		p.last.Store(found) // with the lock: it stays young until keep or clear forget it
	}
	p.mu.RUnlock()
	if isOld {
		p.keep(found)
	}
	return found
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

// keep puts a script into the young generation.
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

// programOf is the compiled script of a call, nil if there is none.
func (e *Executor) programOf(call *command.Row, named []byte) *script.Program {
	if strings.HasPrefix(call.Name, "evalsha") {
		return e.programs.ofName(named)
	}
	return e.programs.ofBody(named)
}
